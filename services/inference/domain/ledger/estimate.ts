import { create } from '@bufbuild/protobuf'
import {
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
import { USUAL_TOKENS } from './media-tokens.ts'

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
