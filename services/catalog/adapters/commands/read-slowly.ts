import type { Readable } from 'node:stream'

/** How many bytes are read per second: a process that prints more has to wait. */
const MAX_READ = 1 << 20
const SECOND_MS = 1_000

/** Reads what a process prints, at a limited rate. */
export function readSlowly(output: Readable, take: (chunk: Buffer) => void): void {
  let read = 0
  output.on('data', (chunk: Buffer) => {
    read += chunk.length
    if (read > MAX_READ) {
      read = 0
      output.pause()
      setTimeout(() => output.resume(), SECOND_MS).unref()
    }
    take(chunk)
  })
}
