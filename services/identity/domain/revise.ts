import type { ApiKey } from '#gen/portico/identity/v1/identity_pb.js'
import type { JsonObject } from '#shared/json.ts'
import type { Issuer } from './issuer.ts'
import type { Policy } from './policy.ts'

/** The state of something before and after a change, as the audit log shows it. */
export interface Change {
  readonly before: JsonObject
  readonly after: JsonObject
}

/**
 * A change; undefined if it changes nothing, so that nothing is written or logged. `show` shows everything that can be
 * changed.
 */
export function changeOf<T>(was: T, is: T, show: (state: T) => JsonObject): Change | undefined {
  const change = { before: show(was), after: show(is) }
  return JSON.stringify(change.before) === JSON.stringify(change.after) ? undefined : change
}

/** A record with other settings; undefined if they are equal. */
export function reviseRecord<R extends Issuer | Policy>(
  record: R,
  settings: R['settings'],
  time: number,
  show: (settings: R['settings']) => JsonObject,
): { readonly record: R; readonly change: Change } | undefined {
  const change = changeOf(record.settings, settings, show)
  return change && { record: { ...record, settings, revision: record.revision + 1, updateTime: time }, change }
}

/** A key after a change; undefined if it is equal. */
export function reviseKey(
  key: ApiKey,
  changed: ApiKey,
  time: number,
  show: (key: ApiKey) => JsonObject,
): { readonly key: ApiKey; readonly change: Change } | undefined {
  const change = changeOf(key, changed, show)
  return change && { key: { ...changed, updateTime: time }, change }
}
