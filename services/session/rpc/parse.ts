import { type ModelRef, PermissionRule_EffectSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type PermissionRuleset, PermissionRulesetSchema, SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import { CreateSessionRequestSchema, Order, OrderSchema } from '#gen/portico/session/v1/session_service_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { check, checkEnum, idParser, MAX_TIME, parseText } from '#shared/rpc/parse.ts'

const { most: MAX_METADATA_BYTES } = limitOf(SessionSchema.field.metadata)
const { most: MAX_TITLE_LENGTH } = limitOf(SessionSchema.field.title)
const { most: MAX_PATH_LENGTH } = limitOf(CreateSessionRequestSchema.field.directory)
const { least: MIN_AGENT_LENGTH, most: MAX_AGENT_LENGTH } = limitOf(SessionSchema.field.agent)
const { most: MAX_RULES } = limitOf(PermissionRulesetSchema.field.rules)
const MAX_MODEL_LENGTH = 256
const MAX_RULE_LENGTH = 4_096
/** The time to judge an access grows with it. */
const MAX_RULES_LENGTH = 65_536

export const parseSessionId = idParser('session_id', 'ses')

export const parseMessageId = idParser('message_id', 'msg_')

/** Checks the size of free-form data. */
export function parseMetadata(metadata: JsonObject | undefined): JsonObject | undefined {
  const bytes = metadata === undefined ? 0 : Buffer.byteLength(JSON.stringify(metadata))
  check(bytes <= MAX_METADATA_BYTES, 'metadata', `must be at most ${MAX_METADATA_BYTES} bytes as JSON`)
  return metadata
}

export function parseTitle(title: string): string {
  return parseText('title', title, 0, MAX_TITLE_LENGTH)
}

/** A project directory; undefined: the default one. */
export function parseDirectory(directory: string | undefined): string | undefined {
  return directory === undefined ? undefined : parseText('directory', directory, 0, MAX_PATH_LENGTH)
}

/** An agent's name. Whether there is such an agent only shows when it runs. */
export function parseAgentName(field: string, name: string): string {
  return parseText(field, name, MIN_AGENT_LENGTH, MAX_AGENT_LENGTH)
}

/** Checks a model's name: its parts have at most 256 characters, and only the variant may be missing. */
export function checkModel({ providerId, modelId, variant = '' }: ModelRef): void {
  const usable = (part: string): boolean => part.length > 0 && part.length <= MAX_MODEL_LENGTH
  const holds = usable(providerId) && usable(modelId) && variant.length <= MAX_MODEL_LENGTH
  check(holds, 'model', `must name a provider and a model of 1 to ${MAX_MODEL_LENGTH} characters`)
}

export function checkRules({ rules }: PermissionRuleset): void {
  check(rules.length <= MAX_RULES, 'permissions', `must have at most ${MAX_RULES} rules`)
  const length = rules.reduce((sum, { action, resource }) => sum + action.length + resource.length, 0)
  check(length <= MAX_RULES_LENGTH, 'permissions', `patterns must have at most ${MAX_RULES_LENGTH} characters together`)
  for (const { action, resource, effect } of rules) {
    const fits = action.length <= MAX_RULE_LENGTH && resource.length <= MAX_RULE_LENGTH
    check(fits, 'permissions', `patterns must have at most ${MAX_RULE_LENGTH} characters`)
    checkEnum(PermissionRule_EffectSchema, effect, 'permissions')
  }
}

/** The order of a list: newest first unless the request says otherwise. */
export function parseOrder(order: Order = Order.DESCENDING): Order {
  checkEnum(OrderSchema, order, 'order')
  return order
}

/** Rejects with REQUEST_INVALID for a time that no message can have. */
export function checkTime(time: number | undefined): void {
  const isPossible = time === undefined || (Number.isInteger(time) && time >= 0 && time <= MAX_TIME)
  check(isPossible, 'time', 'must be from 1970 to the end of the year 9999')
}
