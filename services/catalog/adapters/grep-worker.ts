import { parentPort, workerData } from 'node:worker_threads'

/** What a grep worker is made with. */
export interface GrepOptions {
  readonly source: string
  readonly flags: string
  /** Most matches to answer for one batch. */
  readonly limit: number
}

/** A line that matches. */
export interface GrepMatch {
  readonly file: number
  /** From 1. */
  readonly line: number
  readonly text: string
}

const MAX_LINE_CHARACTERS = 500

// The pattern is the model's, and may take for ever on a line: this thread is ended then, and nothing else waits.
const { source, flags, limit } = workerData as GrepOptions
const pattern = new RegExp(source, flags)
const decoder = new TextDecoder()

parentPort?.on('message', (files: readonly Uint8Array[]) => {
  const matches: GrepMatch[] = []
  for (const [file, data] of files.entries()) {
    for (const [index, line] of decoder.decode(data).split('\n').entries()) {
      if (matches.length >= limit) break
      const text = line.endsWith('\r') ? line.slice(0, -1) : line
      if (!pattern.test(text)) continue
      const shown = text.length > MAX_LINE_CHARACTERS ? `${text.slice(0, MAX_LINE_CHARACTERS)}…` : text
      matches.push({ file, line: index + 1, text: shown })
    }
  }
  parentPort?.postMessage(matches)
})
