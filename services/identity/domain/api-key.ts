import type { KeyTerms } from './key-terms.ts'

/** What a key authenticates as. */
export type ApiKeyKind = (typeof API_KEY_KINDS)[number]
export const API_KEY_KINDS = ['workspace', 'personal', 'management'] as const

/** An API key as it is kept. The key itself is shown once, when it is made, and exists nowhere else. */
export interface ApiKey {
  readonly id: string
  readonly workspaceId: string
  readonly kind: ApiKeyKind
  readonly name: string
  /** The SHA-256 of the key in hexadecimal digits, by which it is found. */
  readonly hash: string
  /** First characters of the key, to recognise it by. */
  readonly prefix: string
  readonly disabled: boolean
  readonly terms: KeyTerms
  /** Key that created it; undefined: the operator did, or it is not known. */
  readonly creatorKeyId: string | undefined
  /** Milliseconds since the epoch. */
  readonly timeCreated: number
  /** When it was changed last, or else created, in milliseconds since the epoch. */
  readonly timeUpdated: number
  /** When it stops working, in milliseconds since the epoch; undefined: never. */
  readonly timeExpires: number | undefined
}

/** How a key that Portico makes begins: a reader sees what it is, and scanners for leaked secrets find it. */
export const SECRET_PREFIXES: Readonly<Record<ApiKeyKind, string>> = {
  workspace: 'sk-portico-',
  personal: 'pk-portico-',
  management: 'mk-portico-',
}

/** Whether a key works at this moment. */
export function isUsable(key: Pick<ApiKey, 'disabled' | 'timeExpires'>, now: number): boolean {
  return !key.disabled && (key.timeExpires === undefined || now < key.timeExpires)
}

/** What may be kept of a key in the clear: at most 15 characters, and never more than a third of it. */
export function prefixOf(secret: string): string {
  return secret.slice(0, Math.min(15, Math.floor(secret.length * 0.3)))
}
