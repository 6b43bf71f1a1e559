import { KeyedQueue } from '#shared/keyed-queue.ts'

const edits = new KeyedQueue()

/**
 * Runs the jobs for a path one after the other, since concurrent edits of a file would lose one. Throws if the signal
 * aborts.
 */
export function exclusively<T>(path: string, signal: AbortSignal, job: () => Promise<T>): Promise<T> {
  return edits.run(path, () => {
    signal.throwIfAborted()
    return job()
  })
}
