import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import { toModelRef } from '#gateway/records/model.ts'
import { type assistant, toolStates } from '#gateway/records/step.ts'
import { toTime } from '#gateway/records/time.ts'
import { placedContent } from '#gateway/records/tool-content.ts'
import type { ToolContentSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AssistantMessageSchema, AssistantPartSchema } from '#gen/portico/session/v1/message_pb.js'
import { toCost, toError, toTokens } from './to-values.ts'

type StepJson = z.output<typeof assistant>
type PartJson = StepJson['content'][number]
type ToolJson = Extract<PartJson, { type: 'tool' }>
type Part = NonNullable<MessageInitShape<typeof AssistantPartSchema>['part']>

/** A step of an import. */
export function toStep(json: StepJson): MessageInitShape<typeof AssistantMessageSchema> {
  const { agent, model, content, time, finish, rawFinish, error, retry, tokens, snapshot } = json
  const value = {
    agent,
    model: toModelRef(model),
    parts: content.map((part) => ({ part: toPart(part) })),
    finish,
    rawFinish,
    ...toCost(json.cost),
    providerState: json.providerState,
    tokens: tokens && toTokens(tokens),
    error: error && toError(error),
    retry: retry && { attempt: retry.attempt, startTime: toTime(retry.at), error: toError(retry.error) },
    streamTime: ifTime(time.streamed),
    completeTime: ifTime(time.completed),
    snapshot: snapshot && { start: snapshot.start, end: snapshot.end, files: snapshot.files ?? [] },
  }
  return value as MessageInitShape<typeof AssistantMessageSchema>
}

function toPart(json: PartJson): Part {
  switch (json.type) {
    case 'text':
      return { case: 'text', value: { text: json.text, state: json.state } } as Part
    case 'reasoning': {
      const { text, state, time } = json
      const times = { createTime: ifTime(time?.created), completeTime: ifTime(time?.completed) }
      return { case: 'reasoning', value: { text, state, ...times } } as Part
    }
    case 'tool':
      return toTool(json)
  }
}

function toTool({ id: callId, name, executed, providerState, providerResultState, state, time }: ToolJson): Part {
  const times = { createTime: toTime(time.created), runTime: ifTime(time.ran), completeTime: ifTime(time.completed) }
  const value = {
    callId,
    name,
    state: toolStates.toProto(state.status),
    ...(state.status === 'streaming' ? { partialInput: state.input } : { input: state.input }),
    ...('content' in state ? { content: state.content?.map(toContent) ?? [] } : {}),
    ...('error' in state ? { error: toError(state.error) } : {}),
    executed,
    providerState,
    providerResultState,
    ...times,
    metadata: 'metadata' in state ? state.metadata : undefined,
  }
  return { case: 'tool', value } as Part
}

type ContentJson = Extract<ToolJson['state'], { status: 'completed' }>['content'][number]

function toContent(json: ContentJson): MessageInitShape<typeof ToolContentSchema> {
  if (json.type === 'text') return { content: { case: 'text', value: json.text } }
  const { uri, mime, name } = json
  return { content: { case: 'file', value: { ...(placedContent(uri) ?? { uri }), mime, name } } }
}

function ifTime(at: number | undefined) {
  return at === undefined ? undefined : toTime(at)
}
