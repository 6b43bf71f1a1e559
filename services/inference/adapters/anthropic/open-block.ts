import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { isTooDeep } from '#services/inference/domain/open-part.ts'
import type { OpenPart } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { objectAt, textAt } from '../http/json.ts'
import { unavailable } from '../http/provider-errors.ts'

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
export function collect(open: OpenBlock, { type: _, partial_json: json, ...members }: JsonObject): number {
  open.json += textAt(json)
  for (const [name, value] of Object.entries(members)) {
    if (value === null || name === '__proto__' || isTooDeep(value)) continue
    open.block[name] = value
    open.size += name.length + JSON.stringify(value).length
  }
  return open.json.length + open.size
}

/** The finished block; a model may have written broken JSON. */
export function wholeBlock({ block, json }: OpenBlock): JsonObject {
  return json === '' ? block : { ...block, input: parsed(json) ?? {} }
}

/** The block that words of none begin: some servers do not announce texts. Undefined: they begin none. */
export function unannounced(providerId: string, { type }: JsonObject): JsonObject | undefined {
  if (type === 'input_json_delta') throw unavailable(providerId, 'It sent a tool call without a name')
  if (type === 'text_delta') return { type: 'text' }
  return type === 'thinking_delta' ? { type: 'thinking' } : undefined
}

/** The input of a finished call: empty if none was given. Some servers send its JSON in a text. */
export function inputOf(providerId: string, { kind, text }: OpenPart, value: unknown): JsonObject {
  const isText = typeof value === 'string' && value !== ''
  const input = isText ? parsed(value) : objectAt(value || {})
  if (input !== undefined || kind !== Kind.TOOL_CALL || text !== '') return input ?? {}
  throw unavailable(providerId, 'It sent an input that is not an object')
}

function parsed(json: string): JsonObject | undefined {
  try {
    return objectAt(JSON.parse(json))
  } catch {
    return undefined
  }
}
