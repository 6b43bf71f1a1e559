import { setTimeout as delay } from 'node:timers/promises'

/** So fast a server is read in the long run, 4 MiB a second: to parse what it sends holds up everybody else. */
const BYTES_PER_MS = 4_194
const LEAST_MS = 2

/** Most bytes of a message that answers nothing. */
export const MAX_UNSOLICITED_BYTES = 256 << 10

/** Waits for as long as messages of so many bytes may keep a server from being read on. */
export async function pace(bytes: number): Promise<void> {
  const ms = bytes / BYTES_PER_MS
  if (ms >= LEAST_MS) await delay(ms)
}
