import { isTooDeep } from '#services/inference/domain/nesting.ts'
import type { OpenPart } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { objectAt, textAt } from '../http/json.ts'

/** A block in progress. */
export interface OpenBlock {
  /** Undefined: it has a meaning only for this API. */
  readonly part: OpenPart | undefined
  readonly block: JsonObject
  /** JSON of an input, collected for a block that is passed on whole. */
  json: string
  /** Characters of its other members that have arrived since it began, as JSON. */
  size: number
}

/**
 * Adds to a block that is passed on whole: JSON of its input, or other members of a delta, of which the last one
 * counts. Returns how many characters arrived.
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

/** The finished block. */
export function wholeBlock({ block, json }: OpenBlock): JsonObject {
  return json === '' ? block : { ...block, input: parsed(json) }
}

/** A model may have written broken JSON. */
function parsed(json: string): JsonObject {
  try {
    return objectAt(JSON.parse(json)) ?? {}
  } catch {
    return {}
  }
}
