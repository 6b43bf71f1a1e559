import type { JsonValue } from '#shared/json.ts'

/**
 * Most levels of what is kept as a provider gave it. What has more could be sent neither between processes, where protobuf ends at 100
 * levels of its own, nor back in a request.
 */
const MAX_LEVELS = 30

/** Whether objects and lists are nested deeper than that. */
export function isTooDeep(value: JsonValue, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isTooDeep(member, levels - 1))
}
