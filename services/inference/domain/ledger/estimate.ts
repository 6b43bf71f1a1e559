import { create } from '@bufbuild/protobuf'
import {
  type ForeignPart,
  type GenerationRequest,
  type MediaPart,
  type Message,
  type Part,
  type Tool,
  type Usage,
  UsageSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { BYTES_OF_TOKEN, tokensOfBytes } from '#shared/text-tokens.ts'
import type { MediaKind } from '../conversation.ts'

export type MediaTokens = Readonly<Record<MediaKind, number>>

/**
 * Usual size of media, for which their bytes say nothing: a picture of 1,568 pixels, ten pages, a minute of sound or
 * video.
 */
export const USUAL_TOKENS: MediaTokens = { image: 1_600, file: 30_000, audio: 2_000, video: 18_000 }

/**
 * Maximum size of media, according to makers: pictures of 10,000 patches (OpenAI), 100 pages of 3,000 tokens and a
 * picture each (Anthropic), nine hours of sound and an hour of video (Gemini).
 */
export const MOST_TOKENS: MediaTokens = { image: 10_000, file: 460_000, audio: 1_000_000, video: 1_000_000 }

/** With this model, a picture has 33 times as many tokens as with others. */
export const COSTLY_PICTURES: readonly [RegExp, number] = [/gpt-4o-mini/, 48_169]

/** What a message, a part or a member adds to its text. */
const BYTES_OF_FRAME = 12
/** What a hosted tool adds to what the model reads: Anthropic states 250 to 750 tokens. */
const BYTES_OF_HOSTED = BYTES_OF_TOKEN * 750
/** A picture has about 1,600 tokens with most models, whatever its size in bytes. */
const BYTES_OF_PICTURE = BYTES_OF_TOKEN * USUAL_TOKENS.image

/**
 * Estimates the input of a request: one token per 3 bytes of its conversation, its tools, and its members for one kind
 * of provider; pictures, and anything at a URL, by what is usual. The maximum may be higher (`openInputOf`).
 */
export function inputTokensOf(request: GenerationRequest): bigint {
  let bytes = 0
  for (const message of request.messages) bytes += bytesOfMessage(message)
  for (const tool of request.tools) bytes += bytesOfTool(tool)
  for (const { definition } of request.hostedTools) bytes += BYTES_OF_HOSTED + bytesOfJson(definition)
  for (const { body } of request.extensions) bytes += bytesOfJson(body)
  const format = request.responseFormat?.format
  if (format?.case === 'jsonSchema') bytes += bytesOfJson(format.value.schema ?? {})
  if (format?.case === 'grammar') bytes += Buffer.byteLength(format.value.grammar)
  return BigInt(tokensOfBytes(bytes))
}

/** How many bytes of a part nobody can read: an encrypted thought, in base64. */
export function hiddenBytesOf(part: Part | undefined): number {
  if (part?.part.case !== 'reasoning' || part.part.value.encrypted === undefined) return 0
  const { text, encrypted } = part.part.value
  return Math.max(0, Math.floor(encrypted.length * 0.75) - bytesOfTexts(text))
}

/**
 * The usage of an answer that broke off, or whose provider reported none: at least what was reported so far, and at
 * least what was streamed (`outputTokens`).
 */
export function estimatedUsage(reported: Usage | undefined, inputTokens: bigint, outputTokens: bigint): Usage {
  return create(UsageSchema, {
    // A provider that reported its input has counted it.
    inputTokens: reported?.inputTokens || inputTokens,
    outputTokens: reported !== undefined && reported.outputTokens > outputTokens ? reported.outputTokens : outputTokens,
    cacheReadTokens: reported?.cacheReadTokens ?? 0n,
    cacheWriteTokens: reported?.cacheWriteTokens ?? 0n,
    reasoningTokens: reported?.reasoningTokens ?? 0n,
    estimated: true,
  })
}

/** Cached tokens are part of the input, even if a provider reports more of them than input. */
export function withCached(usage: Usage): Usage {
  const cachedTokens = usage.cacheReadTokens + usage.cacheWriteTokens
  return cachedTokens > usage.inputTokens ? { ...usage, inputTokens: cachedTokens } : usage
}

function bytesOfMessage({ parts }: Message): number {
  let bytes = BYTES_OF_FRAME
  for (const part of parts) bytes += bytesOfPart(part)
  return bytes
}

function bytesOfPart({ part }: Part): number {
  switch (part.case) {
    case undefined:
      return 0
    case 'text':
    case 'refusal':
      return Buffer.byteLength(part.value.text)
    case 'reasoning': {
      const { text, summary, signature, encrypted } = part.value
      return bytesOfTexts(text, summary, signature, encrypted)
    }
    case 'toolCall': {
      const { name, arguments: text, signature } = part.value
      return BYTES_OF_FRAME + bytesOfTexts(name, text, signature)
    }
    case 'toolResult':
      return part.value.content.reduce((sum, inner) => sum + bytesOfPart(inner), BYTES_OF_FRAME)
    case 'foreign':
      return bytesOfJson(part.value.item)
    default:
      return bytesOfMedia(part.case, part.value)
  }
}

function bytesOfMedia(kind: MediaKind, { source }: MediaPart): number {
  if (source.case !== 'data') return BYTES_OF_TOKEN * USUAL_TOKENS[kind]
  return kind === 'image' ? Math.min(source.value.byteLength, BYTES_OF_PICTURE) : source.value.byteLength
}

function bytesOfTool({ name, description, parameters, custom, namespace }: Tool): number {
  const texts = bytesOfTexts(
    name,
    description,
    custom?.syntax,
    custom?.grammar,
    namespace?.name,
    namespace?.description,
  )
  return BYTES_OF_FRAME + texts + bytesOfJson(parameters)
}

function bytesOfTexts(...texts: readonly (string | undefined)[]): number {
  let bytes = 0
  for (const text of texts) if (text !== undefined) bytes += Buffer.byteLength(text)
  return bytes
}

/** The approximate length of a value as JSON. */
function bytesOfJson(value: JsonObject | undefined): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))
}

/** What a request may use beyond the estimate of its input. */
export interface OpenInput {
  /** Tokens that media may have beyond the usual; never more than fits into the model. */
  readonly mediaTokens: number
  /** Tokens that the provider's own tools may give the model to read, each time. */
  readonly toolTokens: number
  /** Web searches that they may make. */
  readonly searches: number
  /** File searches that they may make. */
  readonly fileSearches: number
  /** Output that is charged besides what is generated: a wrong prediction. */
  readonly outputTokens: number
}

/** Tools in a provider's form that the caller runs, or that read nothing. */
const READS_NOTHING = /^(bash|text_editor|computer|memory|apply_patch|local_shell|tool_search|image_generation)/
const SEARCHES = /^(web_search|x_search|google_search)/
/** Assumed uses of a tool if the request sets no `max_uses`; models rarely use one more than ten times in a turn. */
const USES = 10
/** Maximum number of uses in a turn, whatever the request says. */
const MOST_USES = 1_000
/** Tokens that one use returns: ten results of a search, or a page. */
const TOKENS_OF_USE = 10_000

/** The maximum that a request may use beyond `inputTokensOf`. */
export function openInputOf(
  { messages, hostedTools, extensions, prediction = '' }: GenerationRequest,
  modelId: string,
): OpenInput {
  let mediaTokens = 0
  for (const { parts } of messages) for (const part of parts) mediaTokens += openTokensOf(part, modelId)
  let uses = 0
  let searches = 0
  let fileSearches = 0
  for (const { definition } of hostedTools) {
    const type = String(definition?.type)
    if (READS_NOTHING.test(type)) continue
    const max = definition?.max_uses
    const most = Math.min(Math.max(Math.ceil(typeof max === 'number' ? max : USES), 0), MOST_USES)
    uses += most
    if (SEARCHES.test(type)) searches += most
    if (type === 'file_search') fileSearches += most
  }
  for (const { body } of extensions) uses += USES * (Array.isArray(body?.mcp_servers) ? body.mcp_servers.length : 0)
  const outputTokens = tokensOfBytes(Buffer.byteLength(prediction))
  return { mediaTokens, toolTokens: uses * TOKENS_OF_USE, searches, fileSearches, outputTokens }
}

function openTokensOf({ part }: Part, modelId: string): number {
  switch (part.case) {
    case 'toolResult':
      return part.value.content.reduce((sum, inner) => sum + openTokensOf(inner, modelId), 0)
    case 'image':
      return (COSTLY_PICTURES[0].test(modelId) ? COSTLY_PICTURES[1] : MOST_TOKENS.image) - USUAL_TOKENS.image
    case 'file':
    case 'audio':
    case 'video':
      return part.value.source.case === 'data' ? 0 : MOST_TOKENS[part.case] - USUAL_TOKENS[part.case]
    case 'foreign':
      return namesFile(part.value) ? MOST_TOKENS.file : 0
    default:
      return 0
  }
}

/** Whether an item in a provider's form stands for a file that is stored there, or at a URL. */
function namesFile({ item: { source, file_id: fileId } = {} }: ForeignPart): boolean {
  if (fileId !== undefined) return true
  return typeof source === 'object' && source !== null && ('file_id' in source || 'url' in source)
}
