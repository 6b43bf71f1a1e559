import { isTooDeep } from '#services/inference/domain/nesting.ts'
import type { OpenPart } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { objectAt, textAt } from '../http/json.ts'

/** A block on its way. */
export interface OpenBlock {
  /** Undefined: it has a meaning for this API alone. */
  readonly part: OpenPart | undefined
  readonly block: JsonObject
  /** What a block that comes whole grew by: JSON of an input. */
  json: string
  /** Characters of its other members that came since it began, as JSON. */
  size: number
}

/**
 * Adds to a block that is passed on whole JSON of its input, or what else a delta says of it, which is the last word. Returns how many
 * characters came for it.
 */
export function collect(open: OpenBlock, { type: _, partial_json: json, ...said }: JsonObject): number {
  open.json += textAt(json)
  for (const [name, value] of Object.entries(said)) {
    if (value === null || name === '__proto__' || isTooDeep(value)) continue
    open.block[name] = value
    open.size += name.length + JSON.stringify(value).length
  }
  return open.json.length + open.size
}

/** A block as it is when it has ended. */
export function wholeBlock({ block, json }: OpenBlock): JsonObject {
  return json === '' ? block : { ...block, input: parsed(json) }
}

/** What a model wrote may be broken JSON. */
function parsed(json: string): JsonObject {
  try {
    return objectAt(JSON.parse(json)) ?? {}
  } catch {
    return {}
  }
}
