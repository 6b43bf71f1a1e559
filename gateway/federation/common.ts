import { z } from 'zod'
import { nameParameter } from '../records/ids.ts'

/** To a key, organizations other than its own do not exist. */
export const ORGANIZATION_PATH = '/api/v1/organizations/{organizationID}'

export const ofOrganization = z.object({ organizationID: nameParameter('Organization (org_…)') })

export const issuerId = z.string().regex(/^iss_[0-9A-Za-z]{1,60}$/, 'must be an issuer id (iss_…)')
export const keyId = z.string().regex(/^key_[0-9A-Za-z]{1,60}$/, 'must be a key id (key_…)')
export const policyId = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be a policy id (a UUID in lower-case letters)')

export const warnings = z.array(z.string()).meta({ description: 'Warnings about it, for people' })

/**
 * `settings.issuer_url` → `issuer_url`: to clients, the settings are the body, and the members that it names are
 * changed.
 */
export const publicField = (field: string): string => field.replace(/^settings\.|^update_mask$/, '')

/** Which settings a body of an update names. */
export function maskOf<B extends object>(body: B, names: readonly (keyof B & string)[]): { paths: string[] } {
  return { paths: names.filter((name) => body[name] !== undefined) }
}
