import { Organization_Plan as Plan } from '#gen/portico/identity/v1/federation_pb.js'

export const PLAN_NAMES: ReadonlyMap<Plan, string> = new Map([
  [Plan.FREE, 'free'],
  [Plan.BUSINESS, 'business'],
  [Plan.ENTERPRISE, 'enterprise'],
])

/** Whether organizations with this plan may exchange tokens, and define which ones. */
export function hasFederation(plan: Plan): boolean {
  return plan === Plan.BUSINESS || plan === Plan.ENTERPRISE
}
