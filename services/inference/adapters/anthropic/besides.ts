import { isTooDeep } from '#services/inference/domain/open-part.ts'
import type { JsonObject } from '#shared/json.ts'
import { objectAt } from '../http/json.ts'
import { ANTHROPIC } from './extension.ts'

/**
 * Members that are mapped elsewhere: those of a message, of the event that ends one, of usage, and of blocks that
 * become parts. What another gateway reports about who answered, and at what price, is not for the clients of this one.
 */
const OF_MESSAGE: ReadonlySet<string> = new Set([
  ...['id', 'type', 'role', 'model', 'content', 'stop_reason', 'stop_sequence', 'usage', 'delta'],
  ...['provider', 'openrouter_metadata'],
])
const OF_USAGE: ReadonlySet<string> = new Set([
  ...['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'],
  ...['output_tokens_details', 'service_tier', 'cost', 'cost_details', 'is_byok'],
])
const OF_BLOCK: ReadonlySet<string> = new Set([
  ...['type', 'text', 'citations', 'thinking', 'signature', 'id', 'name', 'input'],
])
/**
 * Maximum number of characters of all such members together, as JSON. Longer or too deeply nested ones are left out.
 */
const MAX_CHARACTERS = 100_000

/**
 * Collects members of a response that only this API understands, including betas: clients of the same API get them
 * unchanged.
 */
export class Besides {
  #message: JsonObject = {}
  #usage: JsonObject = {}

  /** `message`: a message, or the event that ends one. Later values replace earlier ones. */
  note(message: JsonObject): void {
    this.#message = merged(this.#message, message, OF_MESSAGE)
    this.#usage = merged(this.#usage, objectAt(message.usage) ?? {}, OF_USAGE)
  }

  /** By kind of provider; undefined: there are none. */
  get metadata(): JsonObject | undefined {
    const usage: JsonObject = Object.keys(this.#usage).length === 0 ? {} : { usage: this.#usage }
    return ofKind({ ...this.#message, ...usage })
  }
}

/** The members of a block that no other member of its part contains, by kind of provider; undefined: there are none. */
export function besidesOf(block: JsonObject): JsonObject | undefined {
  return ofKind(merged({}, block, OF_BLOCK))
}

function merged(before: JsonObject, members: JsonObject, placed: ReadonlySet<string>): JsonObject {
  const more = Object.entries(members).filter(([name, value]) => {
    return value !== null && !placed.has(name) && name !== '__proto__' && !isTooDeep(value)
  })
  if (more.length === 0) return before
  const all = { ...before }
  let room = MAX_CHARACTERS - JSON.stringify(before).length
  for (const [name, value] of more) {
    room -= JSON.stringify(value).length
    if (room < 0) break
    all[name] = value
  }
  return all
}

function ofKind(block: JsonObject): JsonObject | undefined {
  return Object.keys(block).length === 0 ? undefined : { [ANTHROPIC]: block }
}
