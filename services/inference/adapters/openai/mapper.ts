import type { FinishReason, GenerationEvent } from '#services/inference/domain/generation.ts'
import { type GrowingKind, type OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import { fromUrl } from '../http/data-url.ts'
import { type Json, listAt, objectAt, textAt } from '../http/json.ts'
import { unavailable } from '../http/provider-errors.ts'
import { openaiError } from './error.ts'
import { OpenaiTemplate } from './template.ts'
import { OpenaiToolCalls } from './tool-calls.ts'
import { openaiUsage } from './usage.ts'

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  content_filter: 'content-filter',
}

/** Turns the chunks of a streamed chat completion into events. Unknown members are passed over. */
export class OpenaiStream {
  readonly #providerId: string
  readonly #writer = new PartWriter()
  readonly #calls: OpenaiToolCalls
  readonly #template = new OpenaiTemplate()
  #open: OpenPart | undefined
  #reason = ''
  #rawReason = ''
  #started = false
  /** No further chunk counts. */
  done = false

  constructor(providerId: string) {
    this.#providerId = providerId
    this.#calls = new OpenaiToolCalls(providerId, this.#writer)
  }

  /** Takes the data of one event in. */
  push(data: string): void {
    if (this.done) return
    if (data === '[DONE]') {
      this.#finish()
      return
    }
    const text = this.#template.match(data)
    if (text !== undefined) {
      this.#grow('text', text)
      return
    }
    const chunk = this.#parse(data)
    if (chunk.error !== undefined && chunk.error !== null) throw openaiError(this.#providerId, chunk.error)
    if (!this.#started) {
      this.#started = true
      this.#writer.push({ type: 'started', warnings: [] })
    }
    const choice = objectAt(listAt(chunk.choices)[0])
    if (choice !== undefined) this.#choice(choice)
    const reported = objectAt(chunk.usage)
    const usage = reported === undefined ? undefined : openaiUsage(reported)
    if (usage !== undefined) this.#writer.push({ type: 'usage', usage })
    else if (reported === undefined && choice !== undefined && !choice.finish_reason) this.#learn(data, choice)
  }

  /** Events since the last call. */
  take(): GenerationEvent[] {
    return this.#writer.take()
  }

  /** The stream is over. `[DONE]` may be missing; a finish reason may not. */
  end(): void {
    if (this.done) return
    if (this.#reason === '') throw unavailable(this.#providerId, 'The answer was cut')
    this.#finish()
  }

  #parse(data: string): Json {
    try {
      const chunk = objectAt(JSON.parse(data))
      if (chunk !== undefined) return chunk
    } catch {}
    throw unavailable(this.#providerId, 'It sent an event that is not a JSON object')
  }

  #learn(data: string, choice: Json): void {
    const delta = objectAt(choice.delta)
    const text = textAt(delta?.content)
    if (delta !== undefined && text !== '') this.#template.learn(data, delta, text)
  }

  #choice(choice: Json): void {
    const delta = objectAt(choice.delta)
    if (delta !== undefined) this.#delta(delta)
    const reason = textAt(choice.finish_reason)
    if (reason === '') return
    this.#reason = reason
    this.#rawReason = textAt(choice.native_finish_reason) || reason
    if (choice.error !== undefined && choice.error !== null) throw openaiError(this.#providerId, choice.error)
    if (reason === 'error') throw unavailable(this.#providerId, 'It ended the answer with an error')
  }

  #delta(delta: Json): void {
    const { content, refusal, tool_calls: calls, images, reasoning_details: details } = delta
    this.#reasoning(textAt(delta.reasoning ?? delta.reasoning_content), details)
    if (typeof content === 'string' && content !== '') this.#grow('text', content)
    if (typeof refusal === 'string' && refusal !== '') this.#grow('refusal', refusal)
    if (Array.isArray(calls)) {
      if (calls.length > 0) this.#close()
      for (const call of calls) this.#calls.push(objectAt(call) ?? {})
    }
    for (const image of listAt(images)) {
      const url = textAt(objectAt(objectAt(image)?.image_url)?.url)
      if (url === '') continue
      this.#close()
      this.#writer.whole('image', { type: 'image', ...fromUrl(url), name: '', detail: '' })
    }
  }

  /** OpenRouter tells a thought twice: as text, and in details that carry its signature. */
  #reasoning(text: string, details: unknown): void {
    let [told, kind] = [text, 'reasoning' as GrowingKind]
    let signature = ''
    for (const item of listAt(details)) {
      const detail = objectAt(item) ?? {}
      if (detail.type === 'reasoning.encrypted') {
        const [encrypted, id] = [textAt(detail.data), textAt(detail.id)]
        this.#close()
        this.#writer.whole('reasoning', { type: 'reasoning', text: '', summary: '', signature: '', encrypted, id })
      } else {
        if (detail.type === 'reasoning.summary') kind = 'reasoning-summary'
        if (text === '') told += textAt(detail.text) || textAt(detail.summary)
        signature += textAt(detail.signature)
      }
    }
    if (told !== '') this.#grow(kind, told)
    if (signature === '') return
    if (this.#open?.kind !== 'reasoning') this.#start('reasoning')
    if (this.#open !== undefined) this.#open.signature += signature
  }

  #grow(kind: GrowingKind, text: string): void {
    const part = this.#open?.kind === kind ? this.#open : this.#start(kind)
    this.#writer.extend(part, text)
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
    const reason = waits ? 'tool-calls' : (REASONS[this.#reason] ?? 'other')
    this.#writer.push({ type: 'finished', reason, rawReason: this.#rawReason })
  }
}
