import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type ForeignPart,
  type Generation,
  type GenerationRequest,
  GenerationRequestSchema,
  GenerationSchema,
  LogProbabilitiesSchema,
  type MediaPart,
  type Message,
  Message_Role,
  MessageSchema,
  type Part,
  PartSchema,
  type ReasoningPart,
  type Source,
  type TextPart,
  type ToolCallPart,
  type Usage,
} from '#gen/portico/inference/v1/inference_pb.js'
import type {
  GenerationEvent,
  GenerationFinished,
  GenerationStarted,
  PartExtended,
  PartStarted,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import type { ContentInit } from '#services/inference/domain/conversation.ts'
import type { ProviderEvent, ProviderRequest, ReportedUsage } from '#services/inference/domain/generation.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import type { JsonObject } from '#shared/json.ts'

/** A value as a client reads it, who gets it as JSON. */
export function asJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

/** What a test gives of a request. */
export type RequestInit = Omit<Init, Lists> &
  Partial<Pick<ProviderRequest, 'modelId' | 'providerSession'>> & {
    readonly messages?: readonly (
      | Message
      | (Omit<MessageInit, 'parts'> & { readonly parts?: readonly (Part | PartInit)[] })
    )[]
  } & { readonly [K in Exclude<Lists, 'messages'>]?: Readonly<Init[K]> }

type Init = Exclude<MessageInitShape<typeof GenerationRequestSchema>, GenerationRequest>
type MessageInit = Exclude<MessageInitShape<typeof MessageSchema>, Message>
type Lists = 'messages' | 'tools' | 'hostedTools' | 'extensions'
type PartInit = Exclude<MessageInitShape<typeof PartSchema>, Part>

/** A part of this kind. `besides`: its members that are not of its content. */
export function part<K extends ContentInit['case']>(
  kind: K,
  value: Extract<ContentInit, { readonly case: K }>['value'],
  besides: Omit<PartInit, 'part'> = {},
): Part {
  return create(PartSchema, { part: { case: kind, value } as ContentInit, ...besides })
}

export function message(role: Message_Role, ...parts: readonly Part[]): Message {
  return create(MessageSchema, { role, parts: [...parts] })
}

/** A request with only what a test gives. */
export function generationRequest(request: RequestInit = {}): ProviderRequest {
  const { modelId = 'model', providerSession, ...given } = request
  const messages = [message(Message_Role.USER, part('text', { text: 'Hello' }))]
  const made = create(GenerationRequestSchema, { requestId: 'req_1', messages, ...(given as Init) })
  return { ...made, modelId, providerSession }
}

/** As if every member were there: a test compares what it reads. */
type Members<T> = Required<Omit<T, '$typeName' | '$unknown'>>

/** A part as a test writes it. */
export interface FlatPart
  extends Members<TextPart>,
    Members<MediaPart>,
    Members<ReasoningPart>,
    Members<ToolCallPart>,
    Members<ForeignPart> {
  readonly case: unknown
  readonly providerMetadata: JsonObject
}

/** An event as a test writes it. */
export interface FlatEvent
  extends Members<PartStarted>,
    Members<PartExtended>,
    Members<Omit<GenerationFinished, 'usage'>>,
    Members<GenerationStarted>,
    Members<Source>,
    Required<Omit<ReportedUsage, 'usage'>> {
  readonly case: unknown
  readonly part: FlatPart
  readonly usage: Usage
}

/** Events without nesting: each has its case, the members of its value, and nothing that is absent, false or empty. */
export function flat(events: readonly ProviderEvent[]): FlatEvent[] {
  return events.map((event) => flatten(event) as FlatEvent)
}

function flatten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(flatten)
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  const members = Object.entries(value).filter(([name]) => name !== '$typeName')
  return Object.assign({}, ...members.map(([name, member]) => flatMember(name, member)))
}

/** Members that are left out if they say nothing: most of them are known only later. */
const ADDED_LATER: ReadonlySet<string> = new Set([
  'billed',
  'costNanos',
  'outputCostNanos',
  'costKnown',
  'endpointCount',
])

function isNothing(value: unknown): boolean {
  return typeof value === 'object' ? Object.values(value ?? {}).every((member) => member === undefined) : !value
}

/** A oneof becomes members of the message that it is in. */
function flatMember(name: string, value: unknown): object {
  if (isChoice(value)) {
    const { case: chosen, value: inner } = value
    if (name === 'source' || chosen === undefined) return { [name]: value }
    return typeof inner === 'object' ? { case: chosen, ...(flatten(inner) as object) } : { case: chosen, value: inner }
  }
  const inner = flatten(value)
  const isEmpty = Array.isArray(inner)
    ? inner.length === 0
    : inner === undefined || inner === false || inner === '' || (ADDED_LATER.has(name) && isNothing(inner))
  return isEmpty ? {} : { [name]: inner }
}

function isChoice(value: unknown): value is { readonly case: unknown; readonly value?: unknown } {
  return typeof value === 'object' && value !== null && 'case' in value
}

/** Every event of a generation, in order. */
export async function eventsOf(
  provider: ModelProvider,
  request: RequestInit = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<FlatEvent[]> {
  return flat((await Array.fromAsync(provider.stream(generationRequest(request), signal))).flat())
}

/** Every event of a generation requested whole, in order. */
export async function wholeEventsOf(
  provider: ModelProvider,
  request: RequestInit = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<FlatEvent[]> {
  return flat((await Array.fromAsync(provider.generate(generationRequest(request), signal))).flat())
}

/** The generation that a stream of events amounts to. */
export function wholeOf(events: readonly GenerationEvent[]): Generation {
  const generation = create(GenerationSchema)
  for (const { event } of events) {
    if (event.case === 'started') {
      generation.model = event.value.model
      generation.providerId = event.value.providerId
    } else if (event.case === 'source') generation.sources.push(event.value)
    else if (event.case === 'partExtended' && event.value.logProbabilities.length > 0) {
      const { index, logProbabilities } = event.value
      generation.logProbabilities[index] ??= create(LogProbabilitiesSchema)
      generation.logProbabilities[index].tokens.push(...logProbabilities)
    } else if (event.case === 'partEnded') generation.parts[event.value.index] = event.value.part ?? create(PartSchema)
    else if (event.case === 'finished') {
      const { $typeName: _, ...finished } = event.value
      Object.assign(generation, finished)
    }
  }
  return generation
}
