import type { Organization_Plan } from '#gen/portico/identity/v1/federation_pb.js'
import type { Plan } from '#services/identity/domain/organization.ts'
import { check } from '#shared/rpc/parse.ts'
import { planFromProto } from './convert.ts'

/** Checks the plan in a message. */
export function parsePlan(plan: Organization_Plan): Plan {
  const parsed = planFromProto(plan)
  check(parsed !== undefined, 'plan', 'must be PLAN_FREE, PLAN_BUSINESS or PLAN_ENTERPRISE')
  return parsed
}
