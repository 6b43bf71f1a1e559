import { hash } from 'node:crypto'
import { randomText } from '#shared/ids.ts'
import { type ApiKeyKind, SECRET_PREFIXES } from '../domain/api-key.ts'

/** Makes a key: its kind's prefix and 40 random letters and digits (about 238 bits). */
export function newSecret(kind: ApiKeyKind): string {
  return `${SECRET_PREFIXES[kind]}${randomText(40)}`
}

/**
 * What is kept of a key, and found by. A plain SHA-256 is enough, since a key is no password: nobody can try 238 bits.
 * Looking a hash up in an index reveals nothing about how much of a key was right.
 */
export function hashOf(secret: string): string {
  return hash('sha256', secret, 'hex')
}
