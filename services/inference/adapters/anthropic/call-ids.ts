import { createHash } from 'node:crypto'

const TAKEN = /^[A-Za-z0-9_-]+$/

/**
 * The id of a call as the API takes it: what other providers and clients make up (`call:1`) may have characters that it refuses. The same
 * id becomes the same one in each turn, for the call as for its result, so that a cached prefix stays what it was.
 */
export function callIdOf(id: string): string {
  return TAKEN.test(id) ? id : `toolu_${createHash('sha256').update(id).digest('base64url').slice(0, 24)}`
}
