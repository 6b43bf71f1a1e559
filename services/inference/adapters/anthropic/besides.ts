import type { JsonObject, JsonValue } from '#shared/json.ts'
import { objectAt } from '../http/json.ts'
import { ANTHROPIC } from './extension.ts'

const OF_MESSAGE = ['container', 'stop_details', 'context_management'] as const
const OF_USAGE = ['cache_creation', 'server_tool_use', 'inference_geo', 'iterations', 'speed'] as const
/** Characters of one such member, as JSON. A longer one is left out. */
const MAX_CHARACTERS = 50_000

/** What an answer says that has a meaning for this API alone: clients of the same API get it as it came. */
export class Besides {
  #message: JsonObject = {}
  #usage: JsonObject = {}

  /** `message`: what a message, or the end of one, says. Later words replace earlier ones. */
  note(message: JsonObject): void {
    this.#message = { ...this.#message, ...saidOf(message, OF_MESSAGE) }
    this.#usage = { ...this.#usage, ...saidOf(objectAt(message.usage) ?? {}, OF_USAGE) }
  }

  /** By kind of provider; undefined: nothing. */
  get metadata(): JsonObject | undefined {
    const usage = Object.keys(this.#usage).length === 0 ? {} : { usage: this.#usage }
    const said = { ...this.#message, ...usage }
    return Object.keys(said).length === 0 ? undefined : { [ANTHROPIC]: said }
  }
}

function saidOf(from: JsonObject, names: readonly string[]): JsonObject {
  const said = names.map((name): [string, JsonValue | undefined] => [name, from[name]])
  return Object.fromEntries(said.filter((each): each is [string, JsonValue] => isShort(each[1])))
}

function isShort(value: JsonValue | undefined): boolean {
  return value != null && JSON.stringify(value).length <= MAX_CHARACTERS
}
