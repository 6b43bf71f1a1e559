import type { FinishReason, GenerationEvent, Usage, Warning } from '#services/inference/domain/generation.ts'
import { type OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { jsonObject, type ProviderMapper } from '../http/exchange.ts'
import { countAt, listAt, objectAt, textAt, wordAt } from '../http/json.ts'
import { rejectionForStatus, unavailable } from '../http/provider-errors.ts'

const MAX_BLOCKS = 4_096

const REASONS: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries<FinishReason>({
    end_turn: 'stop',
    stop_sequence: 'stop',
    max_tokens: 'length',
    model_context_window_exceeded: 'length',
    tool_use: 'tool-calls',
    refusal: 'content-filter',
  }),
)

const STATUSES: ReadonlyMap<string, number> = new Map(
  Object.entries<number>({
    invalid_request_error: 400,
    authentication_error: 401,
    billing_error: 402,
    permission_error: 403,
    not_found_error: 404,
    request_too_large: 413,
    rate_limit_error: 429,
    timeout_error: 504,
    overloaded_error: 529,
  }),
)

/** Turns a message, whole or streamed, into events. Unknown events and blocks are passed over. */
export class AnthropicMapper implements ProviderMapper {
  readonly #providerId: string
  readonly #warnings: readonly Warning[]
  readonly #writer = new PartWriter()
  readonly #blocks = new Map<unknown, { readonly part: OpenPart; readonly input: unknown }>()
  #count = 0
  #started = false
  #rawReason = ''
  #input = 0n
  #cacheRead = 0n
  #cacheWrite = 0n
  #output = 0n
  #thinking = 0n
  done = false

  constructor(providerId: string, warnings: readonly Warning[]) {
    this.#providerId = providerId
    this.#warnings = warnings
  }

  whole(message: JsonObject): void {
    if (objectAt(message.error) !== undefined) throw this.#failure(objectAt(message.error))
    this.#start(message)
    for (const [index, block] of listAt(message.content).entries()) {
      this.#begin(index, objectAt(block) ?? {})
      this.#end(index)
    }
    this.#rawReason = textAt(message.stop_reason)
    this.end()
  }

  push(data: string): void {
    if (this.done) return
    const event = jsonObject(data, this.#providerId, 'an event')
    switch (event.type) {
      case 'content_block_delta':
        this.#extend(event.index, objectAt(event.delta) ?? {})
        break
      case 'content_block_start':
        this.#begin(event.index, objectAt(event.content_block) ?? {})
        break
      case 'content_block_stop':
        this.#end(event.index)
        break
      case 'message_start':
        this.#start(objectAt(event.message) ?? {})
        break
      case 'message_delta':
        this.#rawReason = textAt(objectAt(event.delta)?.stop_reason) || this.#rawReason
        this.#usage(objectAt(event.usage))
        break
      case 'message_stop':
        this.#finish()
        break
      case 'error':
        throw this.#failure(objectAt(event.error))
    }
    if (this.#writer.full && !this.done) this.#finish()
  }

  take(): GenerationEvent[] {
    return this.#writer.take()
  }

  /** A stop reason may not be missing. */
  end(): void {
    if (this.done) return
    if (this.#rawReason === '') throw unavailable(this.#providerId, 'The answer was cut')
    this.#finish()
  }

  overflow(rawReason: string): void {
    if (!this.#started) this.#start({})
    this.#rawReason = rawReason
    this.#finish('length')
  }

  #start(message: JsonObject): void {
    this.#started = true
    this.#writer.push({ type: 'started', warnings: this.#warnings })
    this.#usage(objectAt(message.usage))
  }

  #begin(index: unknown, block: JsonObject): void {
    if (++this.#count > MAX_BLOCKS) throw unavailable(this.#providerId, 'It sent too many blocks')
    let part: OpenPart | undefined
    if (block.type === 'text') part = this.#writer.start('text')
    if (block.type === 'thinking') part = this.#writer.start('reasoning')
    if (block.type === 'tool_use') {
      part = this.#writer.start('tool-call', { callId: textAt(block.id), toolName: textAt(block.name) })
    }
    if (block.type === 'redacted_thinking') {
      this.#writer.whole('reasoning', { type: 'reasoning', encrypted: textAt(block.data) })
    }
    if (part === undefined) return
    this.#blocks.set(index, { part, input: block.input })
    const said = textAt(block.text) || textAt(block.thinking)
    if (said !== '') this.#writer.extend(part, said)
    part.signature = textAt(block.signature)
    for (const citation of listAt(block.citations)) cite(this.#writer, part, objectAt(citation))
  }

  #extend(index: unknown, delta: JsonObject): void {
    const block = this.#blocks.get(index)
    if (block === undefined) return
    if (delta.type === 'signature_delta') {
      block.part.signature += textAt(delta.signature)
      return
    }
    if (delta.type === 'citations_delta') cite(this.#writer, block.part, objectAt(delta.citation))
    const said = textAt(delta.text ?? delta.partial_json ?? delta.thinking)
    if (said !== '') this.#writer.extend(block.part, said)
  }

  #end(index: unknown): void {
    const block = this.#blocks.get(index)
    if (block === undefined) return
    this.#blocks.delete(index)
    const { part, input } = block
    if (part.kind === 'tool-call' && part.text === '') this.#writer.extend(part, JSON.stringify(objectAt(input) ?? {}))
    this.#writer.end(part)
  }

  /** Numbers are totals so far, not additions; a missing or null one leaves what was known. */
  #usage(usage: JsonObject | undefined): void {
    if (usage === undefined) return
    this.#input = countAt(usage.input_tokens) ?? this.#input
    this.#cacheRead = countAt(usage.cache_read_input_tokens) ?? this.#cacheRead
    this.#cacheWrite = countAt(usage.cache_creation_input_tokens) ?? this.#cacheWrite
    this.#output = countAt(usage.output_tokens) ?? this.#output
    this.#thinking = countAt(objectAt(usage.output_tokens_details)?.thinking_tokens) ?? this.#thinking
    const total: Usage = {
      inputTokens: this.#input + this.#cacheRead + this.#cacheWrite,
      outputTokens: this.#output,
      cacheReadTokens: this.#cacheRead,
      cacheWriteTokens: this.#cacheWrite,
      reasoningTokens: this.#thinking,
    }
    this.#writer.push({ type: 'usage', usage: total })
  }

  #finish(known?: FinishReason): void {
    for (const index of [...this.#blocks.keys()]) this.#end(index)
    this.done = true
    if (!this.#started) throw unavailable(this.#providerId, 'The answer is empty')
    const reason = known ?? REASONS.get(this.#rawReason) ?? 'other'
    this.#writer.finish(reason, this.#rawReason)
  }

  #failure(error: JsonObject | undefined): Error {
    const status = STATUSES.get(textAt(error?.type)) ?? 500
    return rejectionForStatus(this.#providerId, status, textAt(error?.message) || 'It broke off with an error')
  }
}

/** What a text rests on: an address, or a document of the request. The citation itself goes on as it came. */
function cite(writer: PartWriter, part: OpenPart, citation: JsonObject | undefined): void {
  if (citation === undefined || !writer.note(part, 'citations', citation)) return
  const title = wordAt(citation.title) ?? wordAt(citation.document_title)
  const source = { url: wordAt(citation.url), title, start: undefined, end: undefined }
  writer.cite(part, { ...source, citedText: wordAt(citation.cited_text) })
}
