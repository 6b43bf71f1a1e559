import type { MessageInitShape } from '@bufbuild/protobuf'
import { z } from 'zod'
import {
  PermissionRule_Effect as Effect,
  type PermissionRule,
  type PermissionRuleSchema,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { JsonOf } from '../kinds.ts'
import { name } from './ids.ts'

export const ruleset = z
  .array(z.strictObject({ action: name, resource: name, effect: z.enum(['allow', 'deny', 'ask']) }))
  .meta({ id: 'Permission.Ruleset', description: 'Rules in order; the last matching one wins' })

const effects = enumTable({ allow: Effect.ALLOW, deny: Effect.DENY, ask: Effect.ASK })

export function toRuleset(rules: z.output<typeof ruleset>): MessageInitShape<typeof PermissionRuleSchema>[] {
  return rules.map(({ action, resource, effect }) => ({ action, resource, effect: effects.toProto(effect) }))
}

export function fromRuleset(rules: readonly PermissionRule[]): JsonOf<typeof ruleset> {
  return rules.map(({ action, resource, effect }) => ({ action, resource, effect: effects.fromProto(effect) ?? 'ask' }))
}
