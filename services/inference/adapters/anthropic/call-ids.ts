import { createHash } from 'node:crypto'

const TAKEN = /^[A-Za-z0-9_-]+$/

/**
 * A call id that the API accepts: ids made by other providers and clients (`call:1`) may contain characters that it
 * refuses. The same id always becomes the same one, in the call and in its result, so that a cached prefix does not
 * change.
 */
export function callIdOf(id: string): string {
  return TAKEN.test(id) ? id : `toolu_${createHash('sha256').update(id).digest('base64url').slice(0, 24)}`
}
