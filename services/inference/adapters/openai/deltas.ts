import type { LogProbability } from '#services/inference/domain/generation.ts'
import type { GrowingKind, OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { fromUrl } from '../http/data-url.ts'
import { listAt, objectAt, textAt, wordAt } from '../http/json.ts'
import { unavailable } from '../http/provider-errors.ts'
import { annotate } from './annotations.ts'
import { logProbabilitiesOf } from './log-probabilities.ts'
import type { OpenaiToolCalls } from './tool-calls.ts'

/** Writes the deltas of a message as parts, each of which begins where the kind of content changes. */
export class OpenaiDeltas {
  readonly #providerId: string
  readonly #writer: PartWriter
  readonly #calls: OpenaiToolCalls
  #open: OpenPart | undefined
  /** Whether a text has begun. */
  begun = false

  constructor(providerId: string, writer: PartWriter, calls: OpenaiToolCalls) {
    this.#providerId = providerId
    this.#writer = writer
    this.#calls = calls
  }

  /** `probabilities`: the log probabilities of the tokens; undefined: none. */
  push(delta: JsonObject, probabilities: JsonObject | undefined): void {
    const { content, refusal, tool_calls: calls, images, reasoning_details: details } = delta
    this.#reasoning(textAt(delta.reasoning ?? delta.reasoning_content), details)
    const tokens = probabilities && logProbabilitiesOf(probabilities.content)
    const said = textAt(content)
    if (said !== '' || tokens !== undefined) this.grow('text', said, tokens)
    else this.#pieces(content)
    const refused = textAt(refusal)
    if (refused !== '') this.grow('refusal', refused, probabilities && logProbabilitiesOf(probabilities.refusal))
    for (const annotation of listAt(delta.annotations)) annotate(this.#writer, this.#part('text'), objectAt(annotation))
    if (Array.isArray(calls)) {
      if (calls.length > 0) this.close()
      for (const call of calls) this.#calls.push(objectAt(call) ?? {})
    }
    const legacy = objectAt(delta.function_call)
    if (legacy !== undefined) {
      this.close()
      this.#calls.pushLegacy(legacy)
    }
    for (const image of listAt(images)) {
      const url = textAt(objectAt(objectAt(image)?.image_url)?.url)
      if (url === '') continue
      this.close()
      this.#writer.whole('image', { type: 'image', ...fromUrl(url) })
    }
  }

  grow(kind: GrowingKind, text: string, tokens?: readonly LogProbability[]): void {
    this.#writer.extend(this.#part(kind), text, tokens)
  }

  close(): void {
    if (this.#open !== undefined) this.#writer.end(this.#open)
    this.#open = undefined
  }

  /** A content in pieces, some of which some servers do not wrap. */
  #pieces(content: unknown): void {
    if (Array.isArray(content))
      for (const piece of content) this.#piece(objectAt(piece) ?? { type: 'text', text: piece })
    else if (typeof content !== 'string' && content !== undefined && content !== null)
      throw unavailable(this.#providerId, 'It sent a content that is neither text nor a list')
  }

  /** A piece of a content in pieces, in which Mistral's models think. */
  #piece({ type, text, thinking }: JsonObject): void {
    if (type === 'thinking') for (const piece of listAt(thinking)) this.#say('reasoning', objectAt(piece)?.text)
    else if (type === 'text') this.#say('text', text)
  }

  #say(kind: GrowingKind, text: unknown): void {
    if (textAt(text) !== '') this.grow(kind, textAt(text))
  }

  /** OpenRouter sends a thought twice: as text, and in details that contain its signature and its maker. */
  #reasoning(text: string, details: unknown): void {
    let thought = ''
    let rest = text
    let signature = ''
    let format = ''
    let kind: GrowingKind = 'reasoning'
    const think = (): void => {
      if (thought !== '') this.grow(kind, thought)
      if (signature !== '') this.#part('reasoning').signature += signature
      if (format !== '' && this.#open?.kind === kind) this.#open.format = format
      thought = signature = format = ''
    }
    for (const item of listAt(details)) {
      const detail = objectAt(item) ?? {}
      if (detail.type === 'reasoning.encrypted') {
        think()
        this.close()
        const { data, id, format: made } = detail
        const hidden = { encrypted: wordAt(data), id: wordAt(id), format: wordAt(made) }
        this.#writer.whole('reasoning', { type: 'reasoning', ...hidden })
      } else {
        if (detail.type === 'reasoning.summary') kind = 'reasoning-summary'
        format = textAt(detail.format)
        thought += text === '' ? textAt(detail.text) || textAt(detail.summary) : rest
        rest = ''
        signature += textAt(detail.signature)
      }
    }
    thought += rest
    think()
  }

  #part(kind: GrowingKind): OpenPart {
    if (this.#open?.kind === kind) return this.#open
    this.close()
    this.begun = true
    this.#open = this.#writer.start(kind)
    return this.#open
  }
}
