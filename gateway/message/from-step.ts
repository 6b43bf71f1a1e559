import type { JsonObject } from '@bufbuild/protobuf'
import {
  type AssistantMessage,
  type AssistantPart,
  type AssistantTool,
  AssistantTool_State as State,
} from '#gen/portico/session/v1/message_pb.js'
import type { JsonOf } from '../kinds.ts'
import { listOrAbsent, orAbsent } from '../records/absent.ts'
import { fromError, fromRetry, fromSetError } from '../records/error.ts'
import { fromFinish } from '../records/finish.ts'
import { fromModelRef } from '../records/model.ts'
import { fromSetTime, fromTime } from '../records/time.ts'
import { fromToolContents } from '../records/tool-content.ts'
import { fromCost, fromTokenUsage } from '../records/usage.ts'
import type { assistant, assistantPart } from './kinds.ts'

type PartJson = JsonOf<typeof assistantPart>
type ToolJson = Extract<PartJson, { type: 'tool' }>

/** What every message has. */
export interface Noted {
  readonly id: string
  readonly time: { readonly created: number }
  readonly metadata: JsonObject | undefined
}

/** A step. */
export function fromAssistant(noted: Noted, step: AssistantMessage): JsonOf<typeof assistant> {
  const { snapshot } = step
  return {
    ...noted,
    type: 'assistant',
    time: { ...noted.time, streamed: fromTime(step.streamTime), completed: fromTime(step.completeTime) },
    agent: step.agent,
    model: fromSetModel(step.model),
    content: step.parts.map(fromPart),
    snapshot: snapshot && {
      start: orAbsent(snapshot.start),
      end: orAbsent(snapshot.end),
      files: listOrAbsent(snapshot.files, (file) => file),
    },
    providerState: step.providerState,
    finish: fromFinish(step.finish),
    rawFinish: orAbsent(step.rawFinish),
    cost: step.costNanos === undefined ? undefined : fromCost(step.costNanos),
    tokens: step.tokens === undefined ? undefined : fromTokenUsage(step.tokens),
    error: fromError(step.error),
    retry: step.retry === undefined ? undefined : fromRetry(step.retry),
  }
}

/** A model that the service always gives. */
export function fromSetModel(model: AssistantMessage['model']) {
  if (model === undefined) throw new Error('The session service answered without a model')
  return fromModelRef(model)
}

function fromPart({ part }: AssistantPart): PartJson {
  switch (part.case) {
    case 'text':
      return { type: 'text', text: part.value.text, state: part.value.state }
    case 'reasoning': {
      const { text, state, createTime, completeTime } = part.value
      const time =
        createTime === undefined ? undefined : { created: fromTime(createTime), completed: fromTime(completeTime) }
      return { type: 'reasoning', text, state, time }
    }
    case 'tool':
      return fromTool(part.value)
    case undefined:
      throw new Error('A message has a part of a kind that this version does not know')
  }
}

function fromTool(call: AssistantTool): ToolJson {
  return {
    type: 'tool',
    id: call.callId,
    name: call.name,
    executed: call.executed,
    providerState: call.providerState,
    providerResultState: call.providerResultState,
    state: fromToolState(call),
    time: {
      created: fromSetTime(call.createTime),
      ran: fromTime(call.runTime),
      completed: fromTime(call.completeTime),
    },
  }
}

function fromToolState(call: AssistantTool): ToolJson['state'] {
  const { state, input = {}, metadata } = call
  const content = fromToolContents(call.content)
  switch (state) {
    case State.UNSPECIFIED:
    case State.STREAMING:
      return { status: 'streaming', input: call.partialInput }
    case State.RUNNING:
      return { status: 'running', input, metadata: metadata ?? {} }
    case State.COMPLETED:
      return { status: 'completed', input, content: content ?? [], metadata }
    case State.ERROR:
      return { status: 'error', input, error: fromSetError(call.error), content, metadata }
  }
}
