import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type LogProbability,
  type Part,
  PartSchema,
  type ToolCallPart,
  ToolCallPartSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { isDeeperThan, type JsonObject, type JsonValue } from '#shared/json.ts'
import type { ContentInit } from './conversation.ts'

/** The textual kinds of parts, which grow. */
export type GrowingKind = Kind.TEXT | Kind.REFUSAL | Kind.REASONING | Kind.REASONING_SUMMARY | Kind.TOOL_CALL

/** A call of a tool, as it is known when it begins. */
export type CallInit = Exclude<MessageInitShape<typeof ToolCallPartSchema>, ToolCallPart>

export interface OpenPart {
  readonly index: number
  readonly kind: GrowingKind
  /** Only with a tool call. */
  readonly call: ToolCallPart | undefined
  /** The model's phase for a text; undefined: none. Only with a text and a refusal. */
  readonly phase: string | undefined
  text: string
  /** The first half of a surrogate pair whose other half has not come yet; else empty. */
  half: string
  /** The provider's proof of a thought or a call. */
  signature: string
  /** The encrypted form of a thought. */
  encrypted: string
  /** The provider's id of a thought. */
  id: string
  /** The kind of provider that made the proof or the encrypted form. */
  format: string
  /** Log probabilities whose text is held back. */
  tokens: LogProbability[]
  /** Whether it began when the answer was cut off, so that nobody gets it. */
  isDropped: boolean
  /** What else the provider says about the part. */
  metadata: JsonObject | undefined
}

/** Maximum length of an id or name that a provider made, in characters. */
export const MAX_NAME = 1_000

/** A part that begins; its ids and names are shortened. */
export function openPart(
  index: number,
  kind: GrowingKind,
  call?: CallInit,
  phase?: string,
  metadata?: JsonObject,
): OpenPart {
  const bounded = call && shortened(call)
  const { signature = '', format = '' } = bounded ?? {}
  return {
    index,
    kind,
    call: bounded,
    phase,
    text: '',
    half: '',
    signature,
    encrypted: '',
    id: '',
    format,
    tokens: [],
    isDropped: false,
    metadata,
  }
}

export function wholePart(part: OpenPart): Part {
  return create(PartSchema, { part: contentOf(part), providerMetadata: part.metadata })
}

function contentOf(part: OpenPart): ContentInit {
  const { kind, call, phase, text } = part
  const signature = part.signature || undefined
  const format = part.format || undefined
  if (call !== undefined) return { case: 'toolCall', value: { ...call, arguments: text, signature, format } }
  if (kind === Kind.TEXT || kind === Kind.REFUSAL) {
    return { case: kind === Kind.TEXT ? 'text' : 'refusal', value: { text, phase } }
  }
  const words = kind === Kind.REASONING ? { text: text || undefined } : { summary: text || undefined }
  const encrypted = part.encrypted || undefined
  return { case: 'reasoning', value: { ...words, signature, encrypted, id: part.id || undefined, format } }
}

function shortened(call: CallInit): ToolCallPart {
  const { callId = '', name = '', custom, namespace, signature, format } = call
  return create(ToolCallPartSchema, {
    callId: callId.slice(0, MAX_NAME),
    name: name.slice(0, MAX_NAME),
    custom,
    namespace: namespace?.slice(0, MAX_NAME),
    signature,
    format: signature === undefined ? undefined : format,
  })
}

/**
 * Maximum nesting of data that is kept as a provider sent it. Deeper data could neither be sent between processes,
 * since protobuf allows 100 of its own levels, nor back in a request.
 */
const MAX_LEVELS = 30

/** Whether objects and arrays are nested more deeply than that. */
export function isTooDeep(value: JsonValue): boolean {
  return isDeeperThan(value, MAX_LEVELS)
}
