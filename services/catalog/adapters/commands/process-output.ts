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

/** How many bytes are logged per minute, and at once. */
const MAX_LOGGED = 64 << 10
const MAX_LOGGED_AT_ONCE = 4 << 10
const MINUTE_MS = 60_000

/** Logs what a process prints, at a limited rate; if parts are left out, that is logged, too. */
export function logOutput(output: Readable, log: (text: string) => void): void {
  let minute = 0
  let printed = 0
  readSlowly(output, (chunk) => {
    const now = Math.floor(performance.now() / MINUTE_MS)
    if (now !== minute) printed = 0
    minute = now
    const before = printed
    printed += chunk.length
    const left = chunk.length - MAX_LOGGED_AT_ONCE
    if (printed <= MAX_LOGGED) {
      log(`${chunk.toString('utf8', 0, MAX_LOGGED_AT_ONCE)}${left > 0 ? `… (${left} bytes are left out)` : ''}`)
    } else if (before <= MAX_LOGGED) log('(What is printed in the rest of this minute is left out.)')
  })
}
