import { isDeepStrictEqual } from 'node:util'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { Billed } from '#services/inference/domain/cost.ts'
import type { GrowingKind, OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import { randomId } from '#shared/ids.ts'
import type { JsonObject } from '#shared/json.ts'
import { blocksOf, listAt, objectAt, textAt, wordAt } from '../http/json.ts'
import { unavailable } from '../http/provider-errors.ts'
import { annotate, logProbabilitiesOf } from '../openai/annotations.ts'
import { OPENAI_FORMAT } from './format.ts'
import { ItemList, type LiveItem, type Place } from './item-list.ts'
import { allTextOf, callTextOf, phaseOf, textsOf, waits, writeEncrypted, writeImage } from './item-words.ts'
import { Stopper } from './stop-texts.ts'

/** Tools that OpenAI runs for a price that is in no list. */
const OTHERS = new Set(['code_interpreter_call', 'image_generation_call', 'shell_call'])

/** Counts the uses of OpenAI's own tools, which are billed besides tokens. */
class OwnTools {
  #billed: Billed | undefined

  /** Undefined: nothing. */
  get billed(): Billed | undefined {
    return this.#billed
  }

  /** Counts a finished item. Opening a page of the results is not a search. */
  note(item: JsonObject): void {
    const { webSearches = 0n, fileSearches = 0n } = this.#billed ?? {}
    const type = textAt(item.type)
    const action = textAt(objectAt(item.action)?.type)
    if (OTHERS.has(type)) this.#billed = { ...this.#billed, otherTools: true }
    else if (type === 'file_search_call') this.#billed = { ...this.#billed, fileSearches: fileSearches + 1n }
    else if (type === 'web_search_call' && (action === '' || action === 'search')) {
      this.#billed = { ...this.#billed, webSearches: webSearches + 1n }
    }
  }
}

/** Assembles the items of a response, and writes them as parts. OpenAI's own items are passed on unchanged. */
export class ResponsesItems {
  readonly #providerId: string
  readonly #writer: PartWriter
  readonly #stopper: Stopper
  readonly #items: ItemList
  waiting = false
  readonly ownTools = new OwnTools()

  /** `stop`: texts that end the answer. */
  constructor(providerId: string, writer: PartWriter, stop: readonly string[]) {
    this.#providerId = providerId
    this.#writer = writer
    this.#stopper = new Stopper(writer, stop)
    this.#items = new ItemList(providerId)
  }

  /** The text before which the answer ended, so that nobody gets what follows. Undefined: there was none. */
  get stopText(): string | undefined {
    return this.#stopper.met
  }

  at(event: JsonObject): LiveItem {
    return this.#items.at(event)
  }

  /** An item begins; a call shows its tool immediately. */
  begin(event: JsonObject): void {
    const item = objectAt(event.item) ?? {}
    const live = this.#items.at(event, true)
    if (this.stopText !== undefined) return
    if (item.type !== undefined) live.types.add(textAt(item.type))
    live.phase = phaseOf(item)
    const calls = item.type === 'function_call' || item.type === 'custom_tool_call'
    if (calls && textAt(item.name) !== '') this.#call(live, item)
  }

  extend(live: LiveItem, place: Place, kind: GrowingKind, delta: string, logProbabilities?: unknown): void {
    if (!live.isDone) this.#grow(live, place, kind, delta, logProbabilities)
  }

  /** The next paragraph of a summary begins. */
  paragraph(live: LiveItem): void {
    if (this.stopText !== undefined) return
    const part = live.parts.get('summary')
    if (part !== undefined && part.text !== '') this.#writer.extend(part, '\n\n')
  }

  /** The arguments of a call grow; without its tool it is not a call yet. */
  extendCall(live: LiveItem, delta: string): void {
    if (live.isDone) return
    const part = live.parts.get('call')
    if (this.stopText !== undefined) this.#withhold(live, 'call', delta)
    else if (part !== undefined && delta !== '') this.#writer.extend(part, delta)
  }

  annotate(live: LiveItem, place: number, annotation: JsonObject | undefined): void {
    if (live.isDone || (this.stopText !== undefined && !live.parts.has(place))) return
    live.annotations.set(place, (live.annotations.get(place) ?? 0) + 1)
    annotate(this.#writer, this.#part(live, place, Kind.TEXT), annotation)
  }

  /** An item is complete: what did not come in deltas is added. */
  end(live: LiveItem, item: JsonObject): void {
    if (live.isDone) return
    this.ownTools.note(item)
    live.types.add(textAt(item.type))
    if (this.stopText === undefined) this.#complete(live, item)
    else this.#endAfterStop(live, item)
    this.#close(live)
  }

  /** The response is complete: what the stream lacks of it is added. */
  endAll(output: unknown): void {
    for (const [live, item] of this.#items.final(output)) this.end(live, item)
    this.close()
  }

  #complete(live: LiveItem, item: JsonObject): void {
    if (waits(item)) this.waiting = true
    switch (item.type) {
      case 'message':
        this.#message(live, item)
        break
      case 'reasoning':
        this.#thought(live, item)
        break
      case 'function_call':
      case 'custom_tool_call':
        this.#call(live, item)
        this.#finish(live, 'call', Kind.TOOL_CALL, callTextOf(this.#providerId, item))
        break
      case 'image_generation_call':
        writeImage(this.#writer, item)
        break
      default:
        this.#writer.whole({ case: 'foreign', value: { format: OPENAI_FORMAT, item } })
    }
  }

  /** Only what the answer contains of an item is completed; one of which nothing came before is withheld whole. */
  #endAfterStop(live: LiveItem, item: JsonObject): void {
    if (live.parts.size + live.withheld.size === 0) this.#writer.withhold(allTextOf(item))
    else if (item.type === 'message') this.#message(live, item)
  }

  #withhold(live: LiveItem, place: Place, text: string): void {
    live.withheld.set(place, (live.withheld.get(place) ?? 0) + text.length)
    this.#writer.withhold(text)
  }

  /** Ends everything that is open. */
  close(): void {
    for (const live of this.#items.all) this.#close(live)
  }

  #close(live: LiveItem): void {
    for (const part of live.parts.values()) this.#stopper.end(part)
    live.parts.clear()
    live.isDone = true
  }

  #message(live: LiveItem, item: JsonObject): void {
    live.phase = phaseOf(item)
    for (const [place, value] of blocksOf(this.#providerId, item.content).entries()) {
      const content = objectAt(value) ?? {}
      const refused = content.type === 'refusal'
      const text = textAt(refused ? content.refusal : content.text)
      this.#finish(live, place, refused ? Kind.REFUSAL : Kind.TEXT, text, content.logprobs)
      if (this.stopText !== undefined && !live.parts.has(place)) continue
      for (const annotation of listAt(content.annotations).slice(live.annotations.get(place) ?? 0)) {
        annotate(this.#writer, this.#part(live, place, Kind.TEXT), objectAt(annotation))
      }
    }
  }

  /** Adds what the final form of a text has beyond what came before. */
  #finish(live: LiveItem, place: Place, kind: GrowingKind, text: string, logProbabilities?: unknown): void {
    const part = live.parts.get(place)
    if (part === undefined) this.#grow(live, place, kind, text.slice(live.withheld.get(place) ?? 0), logProbabilities)
    else if (this.stopText === undefined && !this.#writer.full)
      this.#stopper.extend(part, restOf(this.#providerId, this.#stopper.textOf(part), text, kind))
  }

  #grow(live: LiveItem, place: Place, kind: GrowingKind, text: string, logProbabilities?: unknown): void {
    if (text === '') return
    const tokens = logProbabilities === undefined ? undefined : logProbabilitiesOf(logProbabilities)
    if (this.stopText !== undefined) this.#withhold(live, place, text)
    else this.#stopper.extend(this.#part(live, place, kind), text, tokens)
  }

  #thought(live: LiveItem, item: JsonObject): void {
    this.#finish(live, 'summary', Kind.REASONING_SUMMARY, textsOf(item.summary))
    this.#finish(live, 'thought', Kind.REASONING, textsOf(item.content))
    writeEncrypted(this.#writer, live.parts.get('summary') ?? live.parts.get('thought'), item)
  }

  #call(live: LiveItem, item: JsonObject): OpenPart {
    const before = live.parts.get('call')
    if (before !== undefined) return before
    const name = textAt(item.name)
    if (name === '') throw unavailable(this.#providerId, 'It sent a tool call without a name')
    const custom = item.type === 'custom_tool_call'
    this.waiting = true
    const callId = wordAt(item.call_id) ?? wordAt(item.id) ?? randomId('call')
    const part = this.#writer.start(Kind.TOOL_CALL, { callId, name, custom, namespace: wordAt(item.namespace) })
    live.parts.set('call', part)
    return part
  }

  #part(live: LiveItem, place: Place, kind: GrowingKind): OpenPart {
    const before = live.parts.get(place)
    if (before !== undefined) return before
    live.types.add(kind === Kind.TEXT || kind === Kind.REFUSAL ? 'message' : 'reasoning')
    const part = this.#writer.start(kind, undefined, live.phase)
    live.parts.set(place, part)
    return part
  }
}

/**
 * What the final form of a text has beyond what was streamed of it. If the two contradict each other, what was streamed
 * counts, since the client has it; the arguments of a call, which its client is about to run with, are malformed,
 * unless the final form has none.
 */
function restOf(providerId: string, streamed: string, final: string, kind: GrowingKind): string {
  if (final.startsWith(streamed)) return final.slice(streamed.length)
  if (kind !== Kind.TOOL_CALL) return ''
  const says = final.toWellFormed().trim()
  const text = streamed.toWellFormed().trim()
  if (says === '' || says === '{}' || says === text || isSameJson(says, text)) return ''
  throw unavailable(providerId, 'Its final form of an item contradicts what it streamed')
}

/** Whether two texts are JSON of the same value. */
function isSameJson(one: string, other: string): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(one), JSON.parse(other))
  } catch {
    return false
  }
}
