import { create } from '@bufbuild/protobuf'
import {
  type ApiKey,
  type KeyTerms,
  KeyTermsSchema,
  Principal_Kind as Kind,
} from '#gen/portico/identity/v1/identity_pb.js'

/**
 * What keys authenticate as. Secrets begin so that people see what they are, and scanners for leaked secrets find them.
 */
export const KEY_KINDS: ReadonlyMap<Kind, { readonly name: string; readonly secretPrefix: string }> = new Map([
  [Kind.WORKSPACE, { name: 'workspace', secretPrefix: 'sk-portico-' }],
  [Kind.PERSONAL, { name: 'personal', secretPrefix: 'pk-portico-' }],
  [Kind.MANAGEMENT, { name: 'management', secretPrefix: 'mk-portico-' }],
])

/** The terms of a key for which none were set. */
export const NO_TERMS: KeyTerms = create(KeyTermsSchema)

export function kindName(kind: Kind): string {
  return KEY_KINDS.get(kind)?.name ?? 'unknown'
}

/** Whether a key can be used at this moment. */
export function isUsable({ disabled, expireTime }: Pick<ApiKey, 'disabled' | 'expireTime'>, now: number): boolean {
  return !disabled && (expireTime === undefined || now < expireTime)
}

/** The part of a secret that may be stored in the clear: at most 15 characters, and never more than a third of it. */
export function prefixOf(secret: string): string {
  return secret.slice(0, Math.min(15, Math.floor(secret.length * 0.3)))
}
