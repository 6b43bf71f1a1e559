import type { By } from '#services/identity/domain/audit.ts'
import { type KeyTerms, NO_TERMS } from '#services/identity/domain/key-terms.ts'

/**
 * Terms as stored: members equal to those of `NO_TERMS` are omitted, and nano-dollars are digits, since they may exceed
 * JSON's numbers.
 */
export type StoredTerms = Partial<Omit<KeyTerms, 'limitNanos'>> & { readonly limitNanos?: string }

/** Undefined: `NO_TERMS`. */
export function toStoredTerms({ limitNanos, ...terms }: KeyTerms): StoredTerms | undefined {
  const set = Object.entries(terms).filter(([name, value]) =>
    Array.isArray(value) ? value.length > 0 : value !== Reflect.get(NO_TERMS, name),
  )
  if (set.length === 0 && limitNanos === undefined) return undefined
  return { ...Object.fromEntries(set), ...(limitNanos === undefined ? {} : { limitNanos: String(limitNanos) }) }
}

export function toTerms(stored: StoredTerms | undefined): KeyTerms {
  if (stored === undefined) return NO_TERMS
  const { limitNanos } = stored
  return { ...NO_TERMS, ...stored, limitNanos: limitNanos === undefined ? undefined : BigInt(limitNanos) }
}

/** The key that makes a change; undefined if the operator makes it. */
export function creatorOf({ actor }: By): string | undefined {
  return actor.kind === 'operator' ? undefined : actor.keyId
}

/** Nano-dollars from their stored digits; null: no limit. */
export function toNanos(digits: string | null): bigint | undefined {
  return digits === null ? undefined : BigInt(digits)
}
