import type { GrowingKind, OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import { randomId } from '#shared/ids.ts'
import type { JsonObject } from '#shared/json.ts'
import { blocksOf, listAt, objectAt, textAt, wordAt } from '../http/json.ts'
import { unavailable } from '../http/provider-errors.ts'
import { annotate } from '../openai/annotations.ts'
import { logProbabilitiesOf } from '../openai/log-probabilities.ts'
import { restOf } from './final-form.ts'
import { OPENAI_FORMAT } from './format.ts'
import { allTextOf, callTextOf, phaseOf, textsOf, waits, writeEncrypted, writeImage } from './item-words.ts'
import { LiveItem, type Place } from './live-item.ts'
import { OwnTools } from './own-tools.ts'
import { Stopper } from './stop-texts.ts'

const MAX_ITEMS = 4_096

/** Assembles the items of a response, and writes them as parts. OpenAI's own items are passed on unchanged. */
export class ResponsesItems {
  readonly #providerId: string
  readonly #writer: PartWriter
  readonly #stopper: Stopper
  readonly #items = new Map<unknown, LiveItem>()
  #count = 0
  /** Whether an item waits for the caller. */
  waiting = false
  readonly ownTools = new OwnTools()

  /** `stop`: texts that end the answer. */
  constructor(providerId: string, writer: PartWriter, stop: readonly string[]) {
    this.#providerId = providerId
    this.#writer = writer
    this.#stopper = new Stopper(writer, stop)
  }

  /** The text before which the answer ended, so that nobody gets what follows. Undefined: there was none. */
  get stopText(): string | undefined {
    return this.#stopper.met
  }

  /** How many items there were. */
  get count(): number {
    return this.#count
  }

  /** An item begins; a call shows its tool immediately. */
  begin(key: unknown, item: JsonObject): void {
    if (this.stopText !== undefined) return
    const live = this.#live(key)
    live.phase = phaseOf(item)
    const calls = item.type === 'function_call' || item.type === 'custom_tool_call'
    if (calls && textAt(item.name) !== '') this.#call(live, item)
  }

  /** A text of an item grows. */
  extend(key: unknown, place: Place, kind: GrowingKind, delta: string, logProbabilities?: unknown): void {
    if (delta !== '') this.#grow(this.#live(key), place, kind, delta, logProbabilities)
  }

  /** The next paragraph of a summary begins. */
  paragraph(key: unknown): void {
    if (this.stopText !== undefined) return
    const part = this.#items.get(key)?.parts.get('summary')
    if (part !== undefined && !part.text.isEmpty) this.#writer.extend(part, '\n\n')
  }

  /** The arguments of a call grow; without its tool it is not a call yet. */
  extendCall(key: unknown, delta: string): void {
    const part = this.#items.get(key)?.parts.get('call')
    if (this.stopText !== undefined) this.#withhold(this.#live(key), 'call', delta)
    else if (part !== undefined && delta !== '') this.#writer.extend(part, delta)
  }

  annotate(key: unknown, place: number, annotation: JsonObject | undefined): void {
    const live = this.#live(key)
    if (this.stopText !== undefined && !live.parts.has(place)) return
    live.annotations.set(place, (live.annotations.get(place) ?? 0) + 1)
    annotate(this.#writer, this.#part(live, place, 'text'), annotation)
  }

  /** An item is complete: what did not come in deltas is added. */
  end(key: unknown, item: JsonObject): void {
    this.ownTools.note(item)
    if (this.stopText === undefined) this.#complete(key, item)
    else this.#endAfterStop(key, item)
  }

  #complete(key: unknown, item: JsonObject): void {
    const live = this.#live(key)
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
        this.#finish(live, 'call', 'tool-call', callTextOf(this.#providerId, item))
        break
      case 'image_generation_call':
        writeImage(this.#writer, item)
        break
      default:
        this.#writer.whole('foreign', { type: 'foreign', format: OPENAI_FORMAT, item })
    }
    this.#close(key, live)
  }

  /** Only what the answer contains of an item is completed; one of which nothing came before is withheld whole. */
  #endAfterStop(key: unknown, item: JsonObject): void {
    const live = this.#items.get(key)
    if (live === undefined) this.#writer.withhold(allTextOf(item))
    else {
      if (item.type === 'message') this.#message(live, item)
      this.#close(key, live)
    }
  }

  #withhold(live: LiveItem, place: Place, text: string): void {
    live.withheld.set(place, (live.withheld.get(place) ?? 0) + text.length)
    this.#writer.withhold(text)
  }

  /** Ends everything that is open. */
  endAll(): void {
    for (const [key, live] of this.#items) this.#close(key, live)
  }

  #close(key: unknown, live: LiveItem): void {
    for (const part of live.parts.values()) this.#stopper.end(part)
    this.#items.delete(key)
  }

  #message(live: LiveItem, item: JsonObject): void {
    live.phase = phaseOf(item)
    for (const [place, value] of blocksOf(this.#providerId, item.content).entries()) {
      const content = objectAt(value) ?? {}
      const refused = content.type === 'refusal'
      const text = textAt(refused ? content.refusal : content.text)
      this.#finish(live, place, refused ? 'refusal' : 'text', text, content.logprobs)
      if (this.stopText !== undefined && !live.parts.has(place)) continue
      for (const annotation of listAt(content.annotations).slice(live.annotations.get(place) ?? 0)) {
        annotate(this.#writer, this.#part(live, place, 'text'), objectAt(annotation))
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
    this.#finish(live, 'summary', 'reasoning-summary', textsOf(item.summary))
    this.#finish(live, 'thought', 'reasoning', textsOf(item.content))
    writeEncrypted(this.#writer, live.parts.get('summary') ?? live.parts.get('thought'), item)
  }

  #call(live: LiveItem, item: JsonObject): OpenPart {
    const known = live.parts.get('call')
    if (known !== undefined) return known
    const toolName = textAt(item.name)
    if (toolName === '') throw unavailable(this.#providerId, 'It sent a tool call without a name')
    const custom = item.type === 'custom_tool_call'
    const callId = wordAt(item.call_id) ?? wordAt(item.id) ?? randomId('call')
    const part = this.#writer.start('tool-call', { callId, toolName, custom, namespace: wordAt(item.namespace) })
    live.parts.set('call', part)
    return part
  }

  #part(live: LiveItem, place: Place, kind: GrowingKind): OpenPart {
    const known = live.parts.get(place)
    if (known !== undefined) return known
    const part = this.#writer.start(kind, undefined, live.phase)
    live.parts.set(place, part)
    return part
  }

  #live(key: unknown): LiveItem {
    const known = this.#items.get(key)
    if (known !== undefined) return known
    if (++this.#count > MAX_ITEMS) throw unavailable(this.#providerId, 'It sent too many items')
    const live = new LiveItem()
    this.#items.set(key, live)
    return live
  }
}
