import { KeyedQueue } from '#shared/keyed-queue.ts'

const edits = new KeyedQueue()

/** Runs one job for a path after the other: two edits of a file at once would lose one. Throws when the signal aborts. */
export function exclusively<T>(path: string, signal: AbortSignal, job: () => Promise<T>): Promise<T> {
  return edits.run(path, () => {
    signal.throwIfAborted()
    return job()
  })
}
