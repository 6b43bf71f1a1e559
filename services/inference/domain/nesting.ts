import { isDeeperThan, type JsonValue } from '#shared/json.ts'

/**
 * Maximum nesting of data that is kept as a provider sent it. Deeper data could neither be sent between processes,
 * since protobuf allows 100 of its own levels, nor back in a request.
 */
const MAX_LEVELS = 30

/** Whether objects and arrays are nested more deeply than that. */
export function isTooDeep(value: JsonValue): boolean {
  return isDeeperThan(value, MAX_LEVELS)
}
