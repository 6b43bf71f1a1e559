import { create } from '@bufbuild/protobuf'
import { type KeyTerms, KeyTermsSchema } from '#gen/portico/identity/v1/identity_pb.js'

/** What a key authenticates as. */
export type ApiKeyKind = (typeof API_KEY_KINDS)[number]
export const API_KEY_KINDS = ['workspace', 'personal', 'management'] as const

/** An API key as it is stored. The secret itself is shown once, when the key is created, and exists nowhere else. */
export interface ApiKey {
  readonly id: string
  readonly workspaceId: string
  readonly kind: ApiKeyKind
  readonly name: string
  /** SHA-256 of the secret in hexadecimal digits, by which the key is found. */
  readonly hash: string
  /** First characters of the secret, by which people recognise it. */
  readonly prefix: string
  readonly disabled: boolean
  readonly terms: KeyTerms
  /** The key that created it; undefined if the operator did, or if it is unknown. */
  readonly creatorKeyId: string | undefined
  /** Milliseconds since the epoch. */
  readonly timeCreated: number
  /** When it was last changed, or created, in milliseconds since the epoch. */
  readonly timeUpdated: number
  /** When it stops working, in milliseconds since the epoch; undefined: never. */
  readonly timeExpires: number | undefined
}

/** The terms of a key for which none were set. */
export const NO_TERMS: KeyTerms = create(KeyTermsSchema)

/**
 * How the secrets that Portico generates begin, so that people see what they are, and scanners for leaked secrets find
 * them.
 */
export const SECRET_PREFIXES: Readonly<Record<ApiKeyKind, string>> = {
  workspace: 'sk-portico-',
  personal: 'pk-portico-',
  management: 'mk-portico-',
}

/** Whether a key can be used at this moment. */
export function isUsable(key: Pick<ApiKey, 'disabled' | 'timeExpires'>, now: number): boolean {
  return !key.disabled && (key.timeExpires === undefined || now < key.timeExpires)
}

/** The part of a secret that may be stored in the clear: at most 15 characters, and never more than a third of it. */
export function prefixOf(secret: string): string {
  return secret.slice(0, Math.min(15, Math.floor(secret.length * 0.3)))
}
