import type { FinishReason, GenerationEvent, Warning } from '#services/inference/domain/generation.ts'
import { type GrowingKind, type OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { fromUrl } from '../http/data-url.ts'
import { jsonObject, type ProviderMapper } from '../http/exchange.ts'
import { listAt, objectAt, textAt, wordAt } from '../http/json.ts'
import { unavailable } from '../http/provider-errors.ts'
import { annotate } from './annotations.ts'
import { openaiError } from './error.ts'
import { OpenaiTemplate } from './template.ts'
import { OpenaiToolCalls } from './tool-calls.ts'
import { openaiUsage } from './usage.ts'

const REASONS: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries<FinishReason>({
    stop: 'stop',
    length: 'length',
    tool_calls: 'tool-calls',
    function_call: 'tool-calls',
    content_filter: 'content-filter',
  }),
)

/** Turns a chat completion, whole or streamed, into events: a whole message is one delta. Unknown members are passed over. */
export class OpenaiMapper implements ProviderMapper {
  readonly #providerId: string
  readonly #warnings: readonly Warning[]
  readonly #writer = new PartWriter()
  readonly #calls: OpenaiToolCalls
  readonly #template = new OpenaiTemplate()
  #open: OpenPart | undefined
  #reason = ''
  #rawReason = ''
  #started = false
  done = false

  constructor(providerId: string, warnings: readonly Warning[]) {
    this.#providerId = providerId
    this.#warnings = warnings
    this.#calls = new OpenaiToolCalls(providerId, this.#writer)
  }

  whole(completion: JsonObject): void {
    const choice = this.#take(completion)
    // Each call of a whole message is one of its own, whatever its index and id.
    const message = objectAt(choice?.message)
    const calls = listAt(message?.tool_calls).map((call, index) => ({ ...objectAt(call), index }))
    this.#choice({ ...choice, delta: { ...message, tool_calls: calls } })
    this.#usage(completion)
    this.end()
  }

  push(data: string): void {
    if (this.done) return
    const text = this.#template.match(data)
    if (data === '[DONE]') this.#finish()
    else if (text === undefined) this.#chunk(data)
    else this.#grow('text', text)
    if (this.#writer.full && !this.done) this.#finish()
  }

  #chunk(data: string): void {
    const chunk = jsonObject(data, this.#providerId, 'an event')
    const choice = this.#take(chunk)
    const before = this.#writer.size
    if (choice !== undefined) this.#choice(choice)
    const isLast = this.#reason !== '' && this.#writer.size === before
    // Nothing is missing but `[DONE]`. Servers that report usage all along do so beside a text.
    if (this.#usage(chunk) && isLast) this.#finish()
    if (objectAt(chunk.usage) === undefined && choice !== undefined && !choice.finish_reason) this.#learn(data, choice)
  }

  take(): GenerationEvent[] {
    return this.#writer.take()
  }

  /** A finish reason or `[DONE]` has to come: some servers leave out the one, others the other. */
  end(): void {
    if (this.done) return
    if (this.#reason === '') throw unavailable(this.#providerId, 'The answer was cut')
    this.#finish()
  }

  /** The first choice of a completion or of a chunk, once it is known to be no error. */
  #take({ error, choices }: JsonObject): JsonObject | undefined {
    if (error !== undefined && error !== null) throw openaiError(this.#providerId, error)
    if (!this.#started) {
      this.#started = true
      this.#writer.push({ type: 'started', warnings: this.#warnings })
    }
    return objectAt(listAt(choices)[0])
  }

  #usage(chunk: JsonObject): boolean {
    const reported = objectAt(chunk.usage)
    const usage = reported === undefined ? undefined : openaiUsage(reported)
    if (usage !== undefined) this.#writer.push({ type: 'usage', usage })
    return usage !== undefined
  }

  #learn(data: string, choice: JsonObject): void {
    const delta = objectAt(choice.delta)
    const text = textAt(delta?.content)
    if (delta !== undefined && text !== '') this.#template.learn(data, delta, text)
  }

  #choice(choice: JsonObject): void {
    const delta = objectAt(choice.delta)
    if (delta !== undefined) this.#delta(delta)
    const reason = textAt(choice.finish_reason)
    if (reason === '') return
    this.#reason = reason
    this.#rawReason = textAt(choice.native_finish_reason) || reason
    if (choice.error !== undefined && choice.error !== null) throw openaiError(this.#providerId, choice.error)
    if (reason === 'error') throw unavailable(this.#providerId, 'It ended the answer with an error')
  }

  #delta(delta: JsonObject): void {
    const { content, refusal, tool_calls: calls, images, reasoning_details: details } = delta
    this.#reasoning(textAt(delta.reasoning ?? delta.reasoning_content), details)
    if (typeof content === 'string' && content !== '') this.#grow('text', content)
    if (typeof refusal === 'string' && refusal !== '') this.#grow('refusal', refusal)
    for (const annotation of listAt(delta.annotations)) annotate(this.#writer, this.#part('text'), objectAt(annotation))
    if (Array.isArray(calls)) {
      if (calls.length > 0) this.#close()
      for (const call of calls) this.#calls.push(objectAt(call) ?? {})
    }
    for (const image of listAt(images)) {
      const url = textAt(objectAt(objectAt(image)?.image_url)?.url)
      if (url === '') continue
      this.#close()
      this.#writer.whole('image', { type: 'image', ...fromUrl(url) })
    }
  }

  /** OpenRouter sends a thought twice: as text, and in details that carry its signature. */
  #reasoning(text: string, details: unknown): void {
    let [thought, rest, signature] = ['', text, '']
    let kind: GrowingKind = 'reasoning'
    const think = (): void => {
      if (thought !== '') this.#grow(kind, thought)
      if (signature !== '') this.#part('reasoning').signature += signature
      thought = signature = ''
    }
    for (const item of listAt(details)) {
      const detail = objectAt(item) ?? {}
      if (detail.type === 'reasoning.encrypted') {
        think()
        this.#close()
        this.#writer.whole('reasoning', { type: 'reasoning', encrypted: wordAt(detail.data), id: wordAt(detail.id) })
      } else {
        if (detail.type === 'reasoning.summary') kind = 'reasoning-summary'
        thought += text === '' ? textAt(detail.text) || textAt(detail.summary) : rest
        rest = ''
        signature += textAt(detail.signature)
      }
    }
    thought += rest
    think()
  }

  #grow(kind: GrowingKind, text: string): void {
    this.#writer.extend(this.#part(kind), text)
  }

  #part(kind: GrowingKind): OpenPart {
    return this.#open?.kind === kind ? this.#open : this.#start(kind)
  }

  #start(kind: GrowingKind): OpenPart {
    this.#close()
    this.#open = this.#writer.start(kind)
    return this.#open
  }

  #close(): void {
    if (this.#open !== undefined) this.#writer.end(this.#open)
    this.#open = undefined
  }

  #finish(): void {
    this.#close()
    this.#calls.end()
    this.done = true
    if (!this.#started) throw unavailable(this.#providerId, 'The answer is empty')
    // Some servers say `stop` beside tool calls, or nothing at all.
    const waits = this.#calls.count > 0 && (this.#reason === 'stop' || this.#reason === '')
    const reason = waits ? 'tool-calls' : (REASONS.get(this.#reason) ?? 'other')
    this.#writer.finish(reason, this.#rawReason)
  }
}
