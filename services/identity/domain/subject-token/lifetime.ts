import type { JsonObject } from '#shared/json.ts'
import { expiryOf } from '../access-token.ts'
import { SKIPPED, type Verdict, verdict } from './step.ts'
import { timesOf } from './times.ts'

/**
 * Whether an access token would live long enough to be useful. `keyExpires` (undefined: never) and `now` are
 * milliseconds since the epoch.
 */
export function checkLifetime(claims: JsonObject, keyExpires: number | undefined, now: number): Verdict {
  const times = timesOf(claims)
  if (times === undefined) return SKIPPED
  const expires = expiryOf({ subjectExpires: times.expires, keyExpires }, now)
  return verdict(expires !== undefined, () => [
    'at least 1 second left of the token and of the key',
    expires === undefined ? 'less than 1 second' : `${Math.floor(expires - now / 1000)} seconds`,
  ])
}
