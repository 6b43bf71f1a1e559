import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import { invalidAt } from '#gateway/http/check.ts'
import type { structuredError } from '#gateway/records/error.ts'
import { toModelRef } from '#gateway/records/model.ts'
import { type assistant, toolStates } from '#gateway/records/step.ts'
import type { ToolContentSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type {
  AssistantMessageSchema,
  AssistantPartSchema,
  StructuredErrorSchema,
} from '#gen/portico/session/v1/message_pb.js'
import { toNanos, toTokens } from './to-session.ts'

/** Where a value is in the body. */
export type Path = readonly PropertyKey[]
type StepJson = z.output<typeof assistant>
type PartJson = StepJson['content'][number]
type ToolJson = Extract<PartJson, { type: 'tool' }>
type Part = NonNullable<MessageInitShape<typeof AssistantPartSchema>['part']>

export function toStep(json: StepJson, at: Path): MessageInitShape<typeof AssistantMessageSchema> {
  const { agent, model, content, time, finish, rawFinish, error, retry, tokens, snapshot } = json
  return {
    agent,
    model: toModelRef(model),
    parts: content.map((part, i) => ({ part: toPart(part, [...at, 'content', i]) })),
    finish,
    rawFinish,
    costNanos: toNanos(json.cost),
    providerState: json.providerState,
    tokens: tokens && toTokens(tokens),
    error: error && toError(error),
    retry: retry && { attempt: retry.attempt, startTime: retry.at, error: toError(retry.error) },
    streamTime: time.streamed,
    completeTime: time.completed,
    snapshot: snapshot && { start: snapshot.start, end: snapshot.end, files: snapshot.files ?? [] },
  }
}

function toPart(json: PartJson, at: Path): Part {
  switch (json.type) {
    case 'text':
      return { case: 'text', value: { text: json.text, state: json.state } }
    case 'reasoning': {
      const { text, state, time } = json
      return {
        case: 'reasoning',
        value: { text, state, createTime: time?.created, completeTime: time?.completed },
      }
    }
    case 'tool':
      return toTool(json, at)
  }
}

function toTool(json: ToolJson, at: Path): Part {
  const { id: callId, name, executed, providerState, providerResultState, state, time } = json
  const content = 'content' in state ? state.content : undefined
  return {
    case: 'tool',
    value: {
      callId,
      name,
      state: toolStates.toProto(state.status),
      rawInput: state.status === 'streaming' ? state.input : undefined,
      input: state.status === 'streaming' ? undefined : state.input,
      content: content?.map((each, i) => toContent(each, [...at, 'state', 'content', i])),
      error: 'error' in state ? toError(state.error) : undefined,
      executed,
      providerState,
      providerResultState,
      createTime: time.created,
      runTime: time.ran,
      completeTime: time.completed,
      metadata: 'metadata' in state ? state.metadata : undefined,
    },
  }
}

type ContentJson = Extract<ToolJson['state'], { status: 'completed' }>['content'][number]

/** What a URI with content of its own begins with. */
const PREFIX = /^data:[^,]{0,255};base64,/

function toContent(json: ContentJson, at: Path): MessageInitShape<typeof ToolContentSchema> {
  if (json.type === 'text') return { content: { case: 'text', value: json.text } }
  const { uri, mime, name } = json
  const prefix = PREFIX.exec(uri)?.[0]
  const source =
    prefix === undefined
      ? ({ case: 'uri', value: uri } as const)
      : ({ case: 'data', value: toContentBytes(uri.slice(prefix.length), [...at, 'uri']) } as const)
  return { content: { case: 'file', value: { source, mime, name } } }
}

/** The content of a file. Rejects with BODY_INVALID. */
export function toContentBytes(base64: string, at: Path): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64') !== base64) throw invalidAt(at, 'must be canonical base64', 'BODY_INVALID')
  return bytes
}

export function toError(error: z.output<typeof structuredError>): MessageInitShape<typeof StructuredErrorSchema> {
  const { type, message, status, response } = error
  return { type, message, status, responseBody: response?.body }
}
