import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { z } from 'zod'
import { OF_MANAGERS } from '../credentials.ts'
import { nameParameter } from '../records/ids.ts'
import { fromSetTime, fromTime } from '../records/time.ts'

/** What every operation here is. Another organization than that of the key does not exist. */
export const ADMIN = { family: 'gateway', credentials: OF_MANAGERS } as const

export const ORGANIZATION_PATH = '/api/v1/organizations/{organizationID}'

export const ofOrganization = z.object({ organizationID: nameParameter('organizationID', 'Organization (org_…)') })

/** An issuer's id. */
export const issuerId = z.string().regex(/^iss_[0-9A-Za-z]{1,60}$/, 'must be an issuer id (iss_…)')
/** A policy's id. */
export const policyId = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be a policy id (a UUID in small letters)')

const count = z.string().regex(/^\d{1,9}$/, 'must be an integer, at least 0')

/** Query of a list that comes in pages by number. */
export const offsetQuery = {
  offset: count.optional().meta({ description: 'How many to pass over; default: 0' }),
  limit: count.optional().meta({ description: 'At most so many; default: 50, at most 100' }),
}

/** How a page is asked for. */
export function toOffset({
  offset,
  limit,
}: {
  readonly offset?: string | undefined
  readonly limit?: string | undefined
}) {
  return { offset: Number(offset ?? 0), pageSize: Number(limit ?? 0) }
}

/** A page of a list, and how many there are on all pages. */
export const listOf = <S extends z.ZodType>(item: S) =>
  z.strictObject({ data: z.array(item), total_count: z.int().min(0) })

/** A moment, in ISO 8601. */
export const moment = z.iso.datetime()

export const fromMoment = (time: Timestamp | undefined): string => new Date(fromSetTime(time)).toISOString()

export function fromMaybeMoment(time: Timestamp | undefined): string | null {
  return time === undefined ? null : new Date(fromTime(time) ?? 0).toISOString()
}

/** `settings.issuer_url` → `issuer_url`: to clients the settings are the body, and what it names is what changes. */
export const publicField = (field: string): string => field.replace(/^settings\.|^update_mask$/, '')

/** Which settings a body of an update names. */
export function maskOf<B extends object>(body: B, names: readonly (keyof B & string)[]): { paths: string[] } {
  return { paths: names.filter((name) => body[name] !== undefined) }
}
