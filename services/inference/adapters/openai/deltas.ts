import type { LogProbability } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { GrowingKind, OpenPart, PartWriter } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { fromUrl } from '../http/data-url.ts'
import { listAt, objectAt, textAt, wordAt } from '../http/json.ts'
import { unavailable } from '../http/provider-errors.ts'
import { annotate, logProbabilitiesOf } from './annotations.ts'
import type { OpenaiToolCalls } from './tool-calls.ts'

/** The kind of content of a member of a message. */
const KINDS: ReadonlyMap<string, Kind> = new Map([
  ...['content', 'annotations'].map((name) => [name, Kind.TEXT] as const),
  ...['reasoning', 'reasoning_content', 'reasoning_details'].map((name) => [name, Kind.REASONING] as const),
  ...['tool_calls', 'function_call'].map((name) => [name, Kind.TOOL_CALL] as const),
  ['refusal', Kind.REFUSAL],
  ['images', Kind.IMAGE],
])

/** Writes the deltas of a message as parts, each of which begins where the kind of content changes. */
export class OpenaiDeltas {
  readonly #providerId: string
  readonly #writer: PartWriter
  readonly #calls: OpenaiToolCalls
  #open: OpenPart | undefined
  /** Number of the open thought; undefined: the provider gives none. */
  #index: unknown
  /** The kinds of content that have begun, other than calls. */
  readonly #kinds = new Set<Kind>()

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
    const text = textAt(content)
    if (text !== '' || tokens !== undefined) this.grow(Kind.TEXT, text, tokens)
    else this.#pieces(content)
    const refused = textAt(refusal)
    if (refused !== '') this.grow(Kind.REFUSAL, refused, probabilities && logProbabilitiesOf(probabilities.refusal))
    for (const annotation of listAt(delta.annotations))
      annotate(this.#writer, this.#part(Kind.TEXT), objectAt(annotation))
    if (Array.isArray(calls)) {
      if (calls.length > 0) this.close()
      for (const call of calls) this.#calls.push(objectAt(call) ?? {})
    }
    const legacy = objectAt(delta.function_call)
    if (legacy !== undefined && (textAt(legacy.name) !== '' || (legacy.arguments ?? '') !== '')) {
      this.close()
      this.#calls.pushLegacy(legacy)
    }
    for (const image of listAt(images)) {
      const url = textAt(objectAt(objectAt(image)?.image_url)?.url)
      if (url === '') continue
      this.#begin(Kind.IMAGE)
      this.#writer.whole({ case: 'image', value: fromUrl(url) })
    }
  }

  /** What a whole message adds to the deltas: the kinds of content of which nothing has come. */
  restOf(message: JsonObject): JsonObject {
    const rest = Object.fromEntries(Object.entries(message).filter(([name]) => !this.#hasBegun(KINDS.get(name))))
    if (!this.#kinds.has(Kind.REASONING) || !Array.isArray(rest.content)) return rest
    return { ...rest, content: rest.content.filter((piece) => objectAt(piece)?.type !== 'thinking') }
  }

  grow(kind: GrowingKind, text: string, tokens?: readonly LogProbability[]): void {
    // A thought ends with its proof.
    if (kind === Kind.REASONING && this.#open?.signature) this.close()
    this.#writer.extend(this.#part(kind), text, tokens)
  }

  close(): void {
    if (this.#open !== undefined) this.#writer.end(this.#open)
    this.#open = undefined
    this.#index = undefined
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
    if (type === 'thinking') for (const piece of listAt(thinking)) this.#say(Kind.REASONING, objectAt(piece)?.text)
    else if (type === 'text') this.#say(Kind.TEXT, text)
  }

  #say(kind: GrowingKind, text: unknown): void {
    if (textAt(text) !== '') this.grow(kind, textAt(text))
  }

  /** OpenRouter sends a thought twice: as text, and in details that contain its proof and its maker. */
  #reasoning(text: string, details: unknown): void {
    const objects = listAt(details).map((detail) => objectAt(detail) ?? {})
    let rest = objects.some((detail) => wordsOf(detail) !== '') ? '' : text
    for (const detail of objects) {
      if (detail.type === 'reasoning.encrypted') {
        this.#begin(Kind.REASONING)
        const value = { encrypted: wordAt(detail.data), id: wordAt(detail.id), format: wordAt(detail.format) }
        this.#writer.whole({ case: 'reasoning', value })
      } else {
        this.#think(detail, wordsOf(detail) || rest)
        rest = ''
      }
    }
    if (rest !== '') this.grow(Kind.REASONING, rest)
  }

  #think(detail: JsonObject, words: string): void {
    const kind = detail.type === 'reasoning.summary' ? Kind.REASONING_SUMMARY : Kind.REASONING
    const signature = textAt(detail.signature)
    if (this.#open?.kind !== kind || !this.#continues(this.#open, detail, words)) {
      // It says something about a thought that has ended.
      if (words === '' && signature === '') return
      this.close()
    }
    const part = this.#part(kind)
    this.#index ??= detail.index ?? undefined
    if (words !== '') this.#writer.extend(part, words)
    part.signature += signature
    part.id ||= textAt(detail.id)
    part.format ||= textAt(detail.format)
  }

  /** Whether a detail belongs to the open thought: nothing that both say differs, and the proof has not come. */
  #continues({ id, format, signature }: OpenPart, detail: JsonObject, words: string): boolean {
    const index = detail.index ?? undefined
    if (index !== undefined && this.#index !== undefined && index !== this.#index) return false
    if (differ(id, detail.id) || differ(format, detail.format)) return false
    // A proof may come in several pieces.
    return signature === '' || (words === '' && index === this.#index)
  }

  #part(kind: GrowingKind): OpenPart {
    if (this.#open?.kind === kind) return this.#open
    this.#begin(kind === Kind.REASONING_SUMMARY ? Kind.REASONING : kind)
    this.#open = this.#writer.start(kind)
    return this.#open
  }

  #begin(kind: GrowingKind | Kind.IMAGE): void {
    this.close()
    this.#calls.startHeld()
    this.#kinds.add(kind)
  }

  #hasBegun(kind: Kind | undefined): boolean {
    return kind === Kind.TOOL_CALL ? this.#calls.count > 0 : kind !== undefined && this.#kinds.has(kind)
  }
}

function differ(text: string, value: unknown): boolean {
  return text !== '' && textAt(value) !== '' && text !== value
}

/** The words of a detail of a thought. */
function wordsOf({ text, summary }: JsonObject): string {
  return textAt(text) || textAt(summary)
}
