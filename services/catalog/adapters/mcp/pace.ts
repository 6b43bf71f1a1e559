import { setTimeout as delay } from 'node:timers/promises'

/** The average rate at which a server is read, 4 MiB a second, since parsing what it sends delays everybody else. */
const BYTES_PER_MS = 4_194
const LEAST_MS = 2

/** Maximum size of a message that answers no request. */
export const MAX_UNSOLICITED_BYTES = 256 << 10

/** Pauses for as long as messages of this size slow down the reading of a server. */
export async function pace(bytes: number): Promise<void> {
  const ms = bytes / BYTES_PER_MS
  if (ms >= LEAST_MS) await delay(ms)
}
