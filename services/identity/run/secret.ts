import { hash } from 'node:crypto'
import { randomText } from '#shared/ids.ts'
import { type ApiKeyKind, SECRET_PREFIXES } from '../domain/api-key.ts'

/** Generates a secret: the prefix of its kind, and 40 random letters and digits (about 238 bits). */
export function newSecret(kind: ApiKeyKind): string {
  return `${SECRET_PREFIXES[kind]}${randomText(40)}`
}

/**
 * The hash by which a key is stored and found. A plain SHA-256 is enough, since a key is not a password: nobody can try
 * 238 bits. Looking a hash up in an index does not reveal how much of a key was right.
 */
export function hashOf(secret: string): string {
  return hash('sha256', secret, 'hex')
}
