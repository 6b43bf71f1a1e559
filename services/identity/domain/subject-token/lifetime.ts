import type { JsonObject } from '#shared/json.ts'
import { SKIPPED, type Verdict, verdict } from './step.ts'
import { timesOf } from './times.ts'

/** How long an access token lives at most, in seconds. */
const MAX_LIFETIME = 900

/** From when to when an access token is good, in whole seconds since the epoch. */
export interface Lifetime {
  readonly issued: number
  readonly expires: number
}

/**
 * How long the access token of a subject token lives: never longer than that token, nor than the key that it acts as
 * (`keyExpires`, in milliseconds; undefined: for ever). Undefined: under a second would be left.
 */
export function lifetimeOf(claims: JsonObject, keyExpires: number | undefined, now: number): Lifetime | undefined {
  const times = timesOf(claims)
  if (times === undefined) return undefined
  const issued = Math.floor(now / 1000)
  const expires = Math.floor(Math.min(issued + MAX_LIFETIME, times.expires, (keyExpires ?? Infinity) / 1000))
  return expires - now / 1000 >= 1 ? { issued, expires } : undefined
}

/** Whether an access token would live long enough to be of use. */
export function checkLifetime(claims: JsonObject, keyExpires: number | undefined, now: number): Verdict {
  if (timesOf(claims) === undefined) return SKIPPED
  const lifetime = lifetimeOf(claims, keyExpires, now)
  const left = lifetime === undefined ? 'less' : `${lifetime.expires - lifetime.issued} seconds`
  return verdict(lifetime !== undefined, 'at least 1 second left of the token and of the key', left)
}
