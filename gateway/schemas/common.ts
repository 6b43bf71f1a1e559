import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { z } from 'zod'
import {
  type ModelRef,
  type ModelRefSchema,
  type PermissionRule,
  PermissionRule_Effect,
  type PermissionRuleSchema,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import type { TokenUsage } from '#gen/portico/session/v1/session_pb.js'
import { jsonProblem } from './json.ts'

/** Deepest nesting of free-form JSON, which lies in messages that lie in events. */
const JSON_DEPTH = 24

/** A string without NUL, which no name, path or pattern has. */
export const name = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^[^\0]*$/, 'Must not contain NUL')

/** Session id: by prefix only (`contract/instance-facts.md` 3.15), at most 128 characters, none of them a control. */
export const sessionId = z.string().regex(/^ses[^\p{Cc}\p{Cs}]{0,125}$/u, 'Expected a session id (ses…)')

/** Message id, likewise. */
export const messageId = z.string().regex(/^msg_[^\p{Cc}\p{Cs}]{0,124}$/u, 'Expected a message id (msg_…)')

/** Free-form JSON object. */
export const jsonObject = z.custom<JsonObject>(isRecord, 'Expected an object').superRefine((value, context) => {
  const problem = jsonProblem(value, JSON_DEPTH)
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
})

/** `Model.Ref`. */
export const modelRef = z
  .strictObject({ id: name(256), providerID: name(256), variant: name(256).nullish() })
  .transform(
    ({ id, providerID, variant }): MessageInitShape<typeof ModelRefSchema> => ({
      modelId: id,
      providerId: providerID,
      variant: variant ?? '',
    }),
  )

const EFFECTS = {
  allow: PermissionRule_Effect.ALLOW,
  deny: PermissionRule_Effect.DENY,
  ask: PermissionRule_Effect.ASK,
} as const

/** `Permission.Ruleset`, at most 1,000 rules. */
export const ruleset = z
  .array(z.strictObject({ action: name(1_024), resource: name(4_096), effect: z.enum(['allow', 'deny', 'ask']) }))
  .max(1_000)
  .transform((rules): MessageInitShape<typeof PermissionRuleSchema>[] =>
    rules.map(({ action, resource, effect }) => ({ action, resource, effect: EFFECTS[effect] })),
  )

/** `Location.PublicRef`. */
export const locationRef = z.strictObject({ directory: name(4_096) })

/** Milliseconds since the epoch; undefined members are left out of JSON. */
export function milliseconds(time: Timestamp | undefined): number | undefined {
  return time === undefined ? undefined : Number(time.seconds) * 1000 + Math.floor(time.nanos / 1e6)
}

/** Nano-dollars as dollars. */
export function dollars(nanos: bigint): number {
  return Number(nanos) / 1e9
}

/** `TokenUsage.Info`. */
export function tokenUsage(usage: TokenUsage | undefined) {
  return {
    input: Number(usage?.input ?? 0),
    output: Number(usage?.output ?? 0),
    reasoning: Number(usage?.reasoning ?? 0),
    cache: { read: Number(usage?.cacheRead ?? 0), write: Number(usage?.cacheWrite ?? 0) },
  }
}

/** `Model.Ref`, or undefined. */
export function modelRefJson(model: ModelRef | undefined) {
  if (model === undefined) return undefined
  return { id: model.modelId, providerID: model.providerId, variant: orAbsent(model.variant) }
}

/** `Permission.Ruleset`. */
export function rulesetJson(rules: readonly PermissionRule[]) {
  return rules.map(({ action, resource, effect }) => ({ action, resource, effect: EFFECT_NAMES[effect] }))
}

const EFFECT_NAMES = {
  [PermissionRule_Effect.UNSPECIFIED]: 'ask',
  [PermissionRule_Effect.ALLOW]: 'allow',
  [PermissionRule_Effect.DENY]: 'deny',
  [PermissionRule_Effect.ASK]: 'ask',
} as const

/** An empty string stands for "absent" in the protobuf files. */
export function orAbsent(text: string): string | undefined {
  return text === '' ? undefined : text
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
