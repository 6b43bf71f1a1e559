import type { OpenPart } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { listAt, objectAt, textAt, wordAt } from '../http/json.ts'
import { unavailable } from '../http/provider-errors.ts'

/** A place within an item: a content part by its number, the call, the summary, or the raw text of a thought. */
export type Place = number | 'call' | 'summary' | 'thought'

/** An item in progress: its parts, and how many annotations each of them has. */
export class LiveItem {
  /** Its number in the response; undefined: the server gives none. */
  index: unknown
  id: string | undefined
  /** Empty: not known yet. Some servers put a thought and a message into one item. */
  readonly types = new Set<string>()
  /** Whether it has ended; anything that follows is a repetition. */
  isDone = false
  /** Those of its types that were found in the final response. */
  readonly finals = new Set<string>()
  /** Phase of a message; undefined: the model gives none. */
  phase: string | undefined
  readonly parts = new Map<Place, OpenPart>()
  readonly annotations = new Map<Place, number>()
  /** How many characters of a text nobody got, since they came after the end of the answer. */
  readonly withheld = new Map<Place, number>()
}

const MAX_ITEMS = 4_096

/**
 * Finds the items that events belong to, by number or id: some servers send only one of the two, and some sometimes one
 * and sometimes the other.
 */
export class ItemList {
  readonly #providerId: string
  readonly #items: LiveItem[] = []
  readonly #byIndex = new Map<unknown, LiveItem>()
  /** The one without number or id has the key undefined. */
  readonly #byId = new Map<string | undefined, LiveItem>()
  readonly #byCall = new Map<string, LiveItem>()

  constructor(providerId: string) {
    this.#providerId = providerId
  }

  get all(): readonly LiveItem[] {
    return this.#items
  }

  /** The item that an event belongs to. `begins`: another one begins, unless it has already. */
  at(event: JsonObject, begins = false): LiveItem {
    const index = event.output_index ?? undefined
    const id = wordAt(event.item_id) ?? wordAt(objectAt(event.item)?.id)
    const match = this.#find(index, id)
    const isOther = id === undefined ? index === undefined : match?.id !== undefined && match.id !== id
    const item = match === undefined || (match.isDone && (begins || isOther)) ? this.#add() : match
    item.index ??= index
    item.id ??= id
    if (index !== undefined) this.#byIndex.set(index, item)
    if (id !== undefined || index === undefined) this.#byId.set(id, item)
    const callId = wordAt(objectAt(event.item)?.call_id)
    if (callId !== undefined) this.#byCall.set(callId, item)
    return item
  }

  /**
   * The items of a final response, each with what the stream has of it. A server may give them other ids and places
   * there, so one that cannot be found by these is the first of its type that is left.
   */
  *final(output: unknown): Generator<[live: LiveItem, item: JsonObject]> {
    for (const [place, value] of listAt(output).entries()) {
      const item = objectAt(value) ?? {}
      const [id, callId] = [wordAt(item.id), wordAt(item.call_id)]
      const match = [
        id === undefined ? undefined : this.#byId.get(id),
        callId === undefined ? undefined : this.#byCall.get(callId),
        this.#byIndex.get(place),
      ].find((live) => live !== undefined && isOf(live, item))
      const live = match ?? this.#items.find((live) => isOf(live, item)) ?? this.#add()
      live.finals.add(textAt(item.type))
      yield [live, item]
    }
  }

  #find(index: unknown, id: string | undefined): LiveItem | undefined {
    const item = this.#byId.get(id)
    if (index === undefined) return item
    return this.#byIndex.get(index) ?? (id !== undefined && item?.index === undefined ? item : undefined)
  }

  #add(): LiveItem {
    if (this.#items.length === MAX_ITEMS) throw unavailable(this.#providerId, 'It sent too many items')
    const item = new LiveItem()
    this.#items.push(item)
    return item
  }
}

function isOf({ finals, types }: LiveItem, item: JsonObject): boolean {
  const type = textAt(item.type)
  return !finals.has(type) && (types.size === 0 || types.has(type))
}
