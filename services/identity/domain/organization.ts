/** What an organization may use. */
export type Plan = 'free' | 'business' | 'enterprise'

/** Owns workspaces with their keys, issuers and policies. */
export interface Organization {
  readonly id: string
  readonly name: string
  readonly plan: Plan
  /** Milliseconds since the epoch. */
  readonly timeCreated: number
}

/** Whether organizations with this plan may exchange tokens, and define which ones. */
export function hasFederation(plan: Plan): boolean {
  return plan === 'business' || plan === 'enterprise'
}
