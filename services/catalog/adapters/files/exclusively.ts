const waiting = new Map<string, Promise<unknown>>()

/** Runs one job for a path after the other: two edits of a file at once would lose one. Throws when the signal aborts. */
export async function exclusively<T>(path: string, signal: AbortSignal, job: () => Promise<T>): Promise<T> {
  const before = waiting.get(path)
  const turn = (async () => {
    await before
    signal.throwIfAborted()
    return job()
  })()
  const settled = turn.catch(() => {})
  waiting.set(path, settled)
  try {
    return await turn
  } finally {
    if (waiting.get(path) === settled) waiting.delete(path)
  }
}
