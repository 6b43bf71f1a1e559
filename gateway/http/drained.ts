import { once } from 'node:events'
import type { Response } from 'express'
import type { Call } from '../call.ts'

/** Resolves when the client has taken what was written, or is gone; to be called after a write that returned false. */
export async function drained(response: Response, { signal }: Call): Promise<void> {
  await once(response, 'drain', { signal }).catch(() => {})
}
