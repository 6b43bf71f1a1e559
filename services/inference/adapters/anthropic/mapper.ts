import { FinishReason, type Warning } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { ProviderEvent } from '#services/inference/domain/generation.ts'
import { type OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import { randomId } from '#shared/ids.ts'
import type { JsonObject } from '#shared/json.ts'
import { blocksOf, listAt, objectAt, textAt, wordAt } from '../http/json.ts'
import { jsonObject, type ProviderMapper } from '../http/provider-call.ts'
import { rejectionForStatus, unavailable } from '../http/provider-errors.ts'
import { Besides, besidesOf } from './besides.ts'
import { ANTHROPIC } from './extension.ts'
import { collect, inputOf, type OpenBlock, unannounced, wholeBlock } from './open-block.ts'
import { AS_CALLED, customInput, type ToolNames } from './tools.ts'
import { UsageSoFar } from './usage.ts'

const MAX_BLOCKS = 4_096
/** Maximum number of characters of a block that is passed on whole. */
const MAX_COLLECTED = 1_000_000

/** Converts a message, whole or streamed, to events. Unknown events are ignored, and unknown blocks kept unchanged. */
export class AnthropicMapper implements ProviderMapper {
  readonly #providerId: string
  readonly #writer: PartWriter
  readonly #tools: ToolNames
  readonly #blocks = new Map<unknown, OpenBlock>()
  #count = 0
  readonly #usageSoFar = new UsageSoFar()
  readonly #besides = new Besides()
  #rawReason = ''
  #stopText = ''
  #tier = ''
  done = false

  constructor(providerId: string, warnings: readonly Warning[], tools: ToolNames = AS_CALLED) {
    this.#providerId = providerId
    this.#tools = tools
    this.#writer = new PartWriter(warnings)
  }

  whole(message: JsonObject): void {
    if (objectAt(message.error) !== undefined) throw failureOf(this.#providerId, objectAt(message.error))
    this.#start(message)
    for (const [index, block] of blocksOf(this.#providerId, message.content).entries()) {
      this.#begin(index, objectAt(block) ?? {})
      this.#end(index)
    }
    this.#besides.note(message)
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
        this.#besides.note(objectAt(event.message) ?? {})
        break
      case 'message_delta': {
        const delta = objectAt(event.delta) ?? {}
        this.#stop(delta)
        this.#usage(objectAt(event.usage))
        this.#besides.note({ ...event, ...delta })
        break
      }
      case 'message_stop':
        this.end()
        break
      case 'error':
        throw failureOf(this.#providerId, objectAt(event.error))
    }
  }

  get over(): boolean {
    return this.#writer.full
  }

  take(): ProviderEvent[] {
    return this.#writer.take()
  }

  /** The stop reason is required, unless the answer was over before. */
  end(): void {
    if (this.done) return
    if (this.#rawReason === '' && !this.over) throw unavailable(this.#providerId, 'The answer was cut off')
    this.#finish()
  }

  cut(): void {
    this.#writer.cut()
  }

  overflow(rawReason: string): void {
    this.#writer.beginUnused()
    this.#rawReason = rawReason
    this.#finish(FinishReason.LENGTH)
  }

  #start(message: JsonObject): void {
    this.#writer.begin()
    this.#stop(message)
    this.#usage(objectAt(message.usage))
  }

  #stop({ stop_reason: reason, stop_sequence: text }: JsonObject): void {
    this.#rawReason = textAt(reason) || this.#rawReason
    this.#stopText = textAt(text) || this.#stopText
  }

  #begin(index: unknown, block: JsonObject): void {
    if (++this.#count > MAX_BLOCKS) throw unavailable(this.#providerId, 'It sent too many blocks')
    this.#end(index)
    if (block.type === 'redacted_thinking') {
      this.#writer.whole({ case: 'reasoning', value: { encrypted: textAt(block.data), format: ANTHROPIC } })
      return
    }
    const part = this.#open(block)
    this.#blocks.set(index, { part, block, json: '', size: 0 })
    if (part === undefined) return
    const text = textAt(block.text) || textAt(block.thinking)
    if (text !== '') this.#writer.extend(part, text)
    part.signature = textAt(block.signature)
    for (const citation of listAt(block.citations)) cite(this.#writer, part, objectAt(citation))
  }

  #open(block: JsonObject): OpenPart | undefined {
    const { type, id, name } = block
    if (type === 'text') return this.#writer.start(Kind.TEXT, undefined, undefined, besidesOf(block))
    if (type === 'thinking') return this.#writer.start(Kind.REASONING, undefined, undefined, besidesOf(block))
    if (type !== 'tool_use') return undefined
    if (textAt(name) === '') throw unavailable(this.#providerId, 'It sent a tool call without a name')
    const call = this.#tools.callOf(wordAt(id) ?? randomId('call'), textAt(name))
    return this.#writer.start(Kind.TOOL_CALL, call, undefined, besidesOf(block))
  }

  #extend(index: unknown, delta: JsonObject): void {
    const text = textAt(delta.text ?? delta.partial_json ?? delta.thinking)
    const block = this.#blocks.has(index) || text === '' ? undefined : unannounced(this.#providerId, delta)
    if (block !== undefined) this.#begin(index, block)
    const open = this.#blocks.get(index)
    if (open === undefined) return
    const { part } = open
    if (part === undefined || part.call?.custom) {
      if (collect(open, delta) > MAX_COLLECTED) throw unavailable(this.#providerId, 'A block is too long')
      return
    }
    if (delta.type === 'signature_delta') {
      part.signature += textAt(delta.signature)
      return
    }
    if (delta.type === 'citations_delta') cite(this.#writer, part, objectAt(delta.citation))
    if (text !== '') this.#writer.extend(part, text)
  }

  #end(index: unknown): void {
    const open = this.#blocks.get(index)
    if (open === undefined) return
    this.#blocks.delete(index)
    const { part } = open
    const item = wholeBlock(open)
    if (part === undefined) {
      if (textAt(item.type) !== '') this.#writer.whole({ case: 'foreign', value: { format: ANTHROPIC, item } })
      return
    }
    const input = inputOf(this.#providerId, part, item.input)
    if (part.call?.custom) this.#writer.extend(part, customInput(input))
    else if (part.kind === Kind.TOOL_CALL && part.text === '') this.#writer.extend(part, JSON.stringify(input))
    if (part.signature !== '') part.format = ANTHROPIC
    this.#writer.end(part)
  }

  #usage(usage: JsonObject | undefined): void {
    if (usage === undefined) return
    this.#tier = textAt(usage.service_tier) || this.#tier
    this.#writer.report(this.#usageSoFar.note(usage))
  }

  #finish(reason?: FinishReason): void {
    for (const index of [...this.#blocks.keys()]) this.#end(index)
    this.done = true
    if (!this.#writer.begun) throw unavailable(this.#providerId, 'The answer is empty')
    this.#writer.finish(reason ?? reasonOf(this.#rawReason), this.#rawReason, {
      stopText: this.#stopText || undefined,
      serviceTier: this.#tier || undefined,
      providerMetadata: this.#besides.metadata,
    })
  }
}

/** Adds the source of a text: a URL, or a document in the request. The citation itself is passed on unchanged. */
function cite(writer: PartWriter, part: OpenPart, citation: JsonObject | undefined): void {
  if (citation === undefined || !writer.note(part, 'citations', citation)) return
  const title = wordAt(citation.title) ?? wordAt(citation.document_title)
  writer.cite(part, { url: wordAt(citation.url), title, citedText: wordAt(citation.cited_text) })
}

const REASONS: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries<FinishReason>({
    end_turn: FinishReason.STOP,
    stop_sequence: FinishReason.STOP,
    max_tokens: FinishReason.LENGTH,
    model_context_window_exceeded: FinishReason.LENGTH,
    tool_use: FinishReason.TOOL_CALLS,
    refusal: FinishReason.CONTENT_FILTER,
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

/** Converts the API's stop reason. */
function reasonOf(word: string): FinishReason {
  return REASONS.get(word) ?? FinishReason.OTHER
}

/** Converts an error of the API. */
function failureOf(providerId: string, error: JsonObject | undefined): Error {
  const code = textAt(error?.type)
  const status = STATUSES.get(code) ?? 500
  return rejectionForStatus(providerId, status, textAt(error?.message) || 'It broke off with an error', { code })
}
