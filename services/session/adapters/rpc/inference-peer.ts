import type { Client, Transport } from '@connectrpc/connect'
import { FinishReason, type Part as PartMessage, ToolChoice_Mode } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent as EventMessage,
  type GenerationFinished,
  InferenceService,
  PartStarted_Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { cacheMarks } from '#services/session/domain/generation/cache-marks.ts'
import type {
  GeneratedKind,
  GenerationEvent,
  GenerationRequest,
  ModelPart,
} from '#services/session/domain/generation/generation.ts'
import type { ModelRef } from '#services/session/domain/session.ts'
import type { Inference } from '#services/session/ports/inference.ts'
import type { PeerCall } from '#services/session/ports/peer-call.ts'
import { createClient } from '#shared/rpc/client.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { type Blobs, MARKER, toMessage } from './model-message.ts'
import { peerError, peerStream } from './peer-errors.ts'
import { peerOptions } from './peer-options.ts'

const TIMEOUT_MS = 20_000
/** Words for a variant that mean how hard the model should think; other variants are the provider's default. */
const EFFORTS = new Set(['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'])

/** The inference service, called by RPC. */
export class RpcInferencePeer implements Inference {
  readonly #client: Client<typeof InferenceService>

  constructor(transport: Transport) {
    this.#client = createClient(InferenceService, transport)
  }

  async findModel(call: PeerCall, wanted: ModelRef | undefined) {
    try {
      const options = peerOptions(call, TIMEOUT_MS)
      const allowed = wanted === undefined ? [] : [nameOf(wanted)]
      const { defaultModel, models } = await this.#client.listModels({ allowed }, options)
      const slash = defaultModel.indexOf('/')
      const standard = { providerId: defaultModel.slice(0, slash), modelId: defaultModel.slice(slash + 1), variant: '' }
      const model = wanted ?? standard
      const length = models.find(({ name }) => name === nameOf(model))?.contextLength
      return { model, contextLength: length === undefined ? undefined : Number(length) }
    } catch (error) {
      throw peerError('inference', error, call)
    }
  }

  async *generate(call: PeerCall, request: GenerationRequest, blobs: Blobs): AsyncGenerator<GenerationEvent[]> {
    const { requestId, sessionId, origin, model, messages, tools, callTools, headers, body, timeouts } = request
    const marks = request.goesOn ? cacheMarks(messages) : new Set<ModelPart>()
    const generation = {
      requestId,
      sessionId,
      origin,
      model: nameOf(model),
      messages: messages.map((message) => toMessage(message, blobs, marks)),
      tools: tools.map(({ name, description, inputSchema: parameters }, i) => ({
        name,
        description,
        parameters,
        ...(request.goesOn && i === tools.length - 1 ? { cacheControl: MARKER } : {}),
      })),
      ...(tools.length > 0 && !callTools ? { toolChoice: { mode: ToolChoice_Mode.NONE } } : {}),
      ...(EFFORTS.has(model.variant) ? { reasoning: { effort: model.variant } } : {}),
      providerHeaders: headers,
      providerTimeouts: timeouts,
      ...(body === undefined ? {} : { providerBody: body }),
    }
    const stream = this.#client.streamGenerate({ generation }, peerOptions(call))
    for await (const { events } of peerStream('inference', stream, call)) {
      yield events.map(toEvent).filter((event) => event !== undefined)
    }
  }
}

function nameOf({ providerId, modelId }: ModelRef): string {
  return `${providerId}/${modelId}`
}

const KINDS: Readonly<Record<PartStarted_Kind, GeneratedKind>> = {
  [PartStarted_Kind.UNSPECIFIED]: 'other',
  [PartStarted_Kind.TEXT]: 'text',
  [PartStarted_Kind.REASONING]: 'reasoning',
  [PartStarted_Kind.REASONING_SUMMARY]: 'reasoning',
  [PartStarted_Kind.TOOL_CALL]: 'tool-call',
  [PartStarted_Kind.REFUSAL]: 'text',
  [PartStarted_Kind.IMAGE]: 'other',
  [PartStarted_Kind.FILE]: 'other',
  [PartStarted_Kind.FOREIGN]: 'other',
}

function toEvent({ event }: EventMessage): GenerationEvent | undefined {
  switch (event.case) {
    case 'partStarted': {
      const { index, kind, toolCall } = event.value
      const { callId = '', name: toolName = '' } = toolCall ?? {}
      return { type: 'part-started', index, kind: KINDS[kind] ?? 'other', callId, toolName }
    }
    case 'partExtended':
      return { type: 'part-extended', index: event.value.index, text: event.value.text }
    case 'partEnded':
      return { type: 'part-ended', index: event.value.index, ...wholePart(event.value.part) }
    case 'finished':
      return toFinished(event.value)
    default:
      return undefined
  }
}

function wholePart(
  message: PartMessage | undefined,
): Pick<Extract<GenerationEvent, { type: 'part-ended' }>, 'text' | 'thought'> {
  const part = message?.part
  switch (part?.case) {
    case 'text':
    case 'refusal':
      return { text: part.value.text, thought: undefined }
    case 'toolCall':
      return { text: part.value.arguments, thought: undefined }
    case 'reasoning': {
      const { text, summary, signature, encrypted, id } = part.value
      return { text: text ?? '', thought: { text, summary, signature, encrypted, id } }
    }
    default:
      return { text: '', thought: undefined }
  }
}

const finishes = enumTable({
  stop: FinishReason.STOP,
  length: FinishReason.LENGTH,
  'tool-calls': FinishReason.TOOL_CALLS,
  'content-filter': FinishReason.CONTENT_FILTER,
  unknown: FinishReason.OTHER,
})

function toFinished({ reason, rawReason, usage, costNanos }: GenerationFinished): GenerationEvent {
  const count = (tokens: bigint | undefined): number => Number(tokens ?? 0n)
  const cacheRead = count(usage?.cacheReadTokens)
  const cacheWrite = count(usage?.cacheWriteTokens)
  const reasoning = count(usage?.reasoningTokens)
  return {
    type: 'finished',
    finish: finishes.fromProto(reason) ?? 'unknown',
    rawFinish: rawReason,
    // A provider that reports more of a kind than of all kinds together must not make a number negative.
    tokens: {
      input: Math.max(0, count(usage?.inputTokens) - cacheRead - cacheWrite),
      output: Math.max(0, count(usage?.outputTokens) - reasoning),
      reasoning,
      cacheRead,
      cacheWrite,
    },
    costNanos,
  }
}
