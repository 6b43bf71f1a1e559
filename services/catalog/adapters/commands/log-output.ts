import type { Readable } from 'node:stream'
import { readSlowly } from './read-slowly.ts'

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
