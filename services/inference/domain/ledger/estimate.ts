import type { JsonObject } from '#shared/json.ts'
import type { Message, Part } from '../conversation.ts'
import type { GenerationRequest, Usage } from '../generation.ts'

/** A token has at least so many bytes, on the whole: what counts by it is rather too much than too little. */
const BYTES_OF_TOKEN = 3
/** What a message, a part or a member costs besides its text. */
const BYTES_OF_FRAME = 12

/** So many tokens a text of so many bytes is taken for. */
export function tokensOfBytes(bytes: number): bigint {
  return BigInt(Math.ceil(bytes / BYTES_OF_TOKEN))
}

/** How many tokens the input of a request has at most: one for 3 bytes of its conversation and its tools. */
export function inputTokensOf(request: Pick<GenerationRequest, 'messages' | 'tools' | 'responseFormat'>): bigint {
  let bytes = 0
  for (const message of request.messages) bytes += bytesOfMessage(message)
  for (const { name, description = '', parameters } of request.tools) {
    bytes += BYTES_OF_FRAME + Buffer.byteLength(name) + Buffer.byteLength(description) + bytesOfJson(parameters)
  }
  if (request.responseFormat?.type === 'json-schema') bytes += bytesOfJson(request.responseFormat.schema)
  if (request.responseFormat?.type === 'grammar') bytes += Buffer.byteLength(request.responseFormat.grammar)
  return tokensOfBytes(bytes)
}

/**
 * The usage of an answer that broke off, or whose provider reported none: at least what was reported by then, and at least a token for 3
 * bytes of what came.
 */
export function estimatedUsage(reported: Usage | undefined, inputTokens: bigint, outputBytes: number): Usage {
  const outputTokens = tokensOfBytes(outputBytes)
  return {
    // A provider that reported its input has counted it.
    inputTokens: reported?.inputTokens || inputTokens,
    outputTokens: reported !== undefined && reported.outputTokens > outputTokens ? reported.outputTokens : outputTokens,
    cacheReadTokens: reported?.cacheReadTokens ?? 0n,
    cacheWriteTokens: reported?.cacheWriteTokens ?? 0n,
    reasoningTokens: reported?.reasoningTokens ?? 0n,
    estimated: true,
  }
}

function bytesOfMessage({ parts }: Message): number {
  let bytes = BYTES_OF_FRAME
  for (const part of parts) bytes += bytesOfPart(part)
  return bytes
}

function bytesOfPart(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return Buffer.byteLength(part.text)
    case 'reasoning':
      return bytesOfTexts(part.text, part.summary, part.signature, part.encrypted)
    case 'tool-call':
      return BYTES_OF_FRAME + bytesOfTexts(part.name, part.arguments, part.signature)
    case 'tool-result':
      return part.content.reduce((sum, inner) => sum + bytesOfPart(inner), BYTES_OF_FRAME)
    case 'foreign':
      return bytesOfJson(part.item)
    default:
      return 'data' in part.source ? part.source.data.byteLength : Buffer.byteLength(part.source.url)
  }
}

function bytesOfTexts(...texts: readonly (string | undefined)[]): number {
  let bytes = 0
  for (const text of texts) if (text !== undefined) bytes += Buffer.byteLength(text)
  return bytes
}

/** About how long a value is as JSON. */
function bytesOfJson(value: JsonObject | undefined): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))
}
