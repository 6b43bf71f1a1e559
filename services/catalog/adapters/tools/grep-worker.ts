/** A job of a thread: to search texts, which are in the memory that it was created with. */
export interface SearchRequest {
  readonly source: string
  readonly flags: string
  /** Maximum number of matches to return. */
  readonly limit: number
  readonly texts: readonly TextSpan[]
}

/** Where a text is, in bytes. */
export interface TextSpan {
  readonly start: number
  readonly length: number
}

export interface Match {
  /** Index of the text. */
  readonly text: number
  /** From 1. */
  readonly line: number
  readonly content: string
}

/** What it sends: the matches of each text that has some, and finally `done`. */
export type SearchAnswer = readonly Match[] | 'done'

/**
 * The whole code of a searching thread. It is passed as text, since a file would make every thread load the code that
 * strips its types; so it cannot use anything else in this module.
 */
export function searchTexts(): void {
  const maxLineCharacters = 500
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads')
  const memory = Buffer.from(workerData as SharedArrayBuffer)

  // The pattern comes from the model, and may take for ever on a line: then this thread is ended, and nothing else
  // waits.
  parentPort?.on('message', ({ source, flags, limit, texts }: SearchRequest) => {
    const pattern = new RegExp(source, flags)
    let left = limit
    for (const [text, span] of texts.entries()) {
      if (left === 0) break
      const matches = search(pattern, text, span, left)
      left -= matches.length
      if (matches.length > 0) parentPort.postMessage(matches)
    }
    parentPort.postMessage('done')
  })

  function search(pattern: RegExp, text: number, { start, length }: TextSpan, limit: number): Match[] {
    const matches: Match[] = []
    const lines = memory.toString('utf8', start, start + length).split('\n')
    for (const [index, whole] of lines.entries()) {
      if (matches.length === limit) break
      const line = whole.endsWith('\r') ? whole.slice(0, -1) : whole
      if (!pattern.test(line)) continue
      const content = line.length > maxLineCharacters ? `${line.slice(0, maxLineCharacters)}…` : line
      matches.push({ text, line: index + 1, content })
    }
    return matches
  }
}
