import { create } from '@bufbuild/protobuf'
import {
  type ExchangeStep,
  ExchangeStepSchema,
  ExchangeStep_Verdict as Result,
} from '#gen/portico/identity/v1/federation_pb.js'
import type { JsonObject, JsonValue } from '#shared/json.ts'

/** What an exchange checks, in this order. */
export const STEP_NAMES = [
  'form',
  'policy',
  'plan',
  'key',
  'header',
  'claims',
  'issuer',
  'signature',
  'expiry',
  'subject',
  'audience',
  'scopes',
  'token_type',
  'condition',
  'lifetime',
  'single_use',
] as const

export type StepName = (typeof STEP_NAMES)[number]

/** The outcome of a step. SKIPPED: the policy does not require it, or what it needs is missing. */
export interface Verdict {
  readonly verdict: Result
  /** What was expected and what was found; undefined: nothing. Not called for an exchange that is accepted. */
  readonly words?: () => readonly [expected: string, found: string | undefined]
}

/**
 * A step of an exchange and its outcome. `expected` and `found` are for people: JSON for values of claims, at most
 * 1,024 characters.
 */
export interface Step extends ExchangeStep {
  name: StepName
}

export const SKIPPED: Verdict = { verdict: Result.SKIPPED }

/** The outcome of a step that was not skipped. */
export function verdict(passes: boolean, words: NonNullable<Verdict['words']>): Verdict {
  return { verdict: passes ? Result.PASSED : Result.FAILED, words }
}

export function stepOf(name: StepName, { verdict, words }: Verdict): Step {
  const [expected, actual] = words?.() ?? []
  const texts = { expected: expected && cut(expected), found: actual ? cut(actual) : undefined }
  return { ...create(ExchangeStepSchema, { verdict, ...texts }), name }
}

/** A claim; undefined if the token does not have it. Inherited members of objects are not claims. */
export function claimOf(claims: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}

/** The value of a claim for people; characters that would change how others look are escaped. */
export function quoteClaim(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value).replace(/\p{Cf}/gu, escaped)
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}

function cut(text: string): string {
  return text.length <= 1024 ? text : `${text.slice(0, 1023).toWellFormed()}…`
}
