import { z } from 'zod'
import {
  type AssistantMessage,
  AssistantMessageSchema,
  type AssistantPart,
  type AssistantTool,
  AssistantToolSchema,
  AssistantTool_State as State,
} from '#gen/portico/session/v1/message_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { JsonOf } from '../kinds.ts'
import { freeObject, limitedBy } from '../shape.ts'
import { fromError, fromRetry, fromSetError, retry, structuredError } from './error.ts'
import { finish, fromFinish } from './finish.ts'
import { listOrAbsent, metadata } from './free.ts'
import { fromModelRef, modelRef } from './model.ts'
import { time } from './time.ts'
import { fromToolContents, toolContent } from './tool-content.ts'
import { cost, fromCost, fromTokenUsage, tokenUsage } from './usage.ts'

/** What every message has. */
export const common = { id: z.string(), time: z.strictObject({ created: time }) }
/** For messages whose metadata is not part of their content. */
export const noted = { ...common, metadata: metadata.optional() }
const input = freeObject('Each tool has arguments of its own.')
/** Data that only the provider understands. */
export const providerData = freeObject('Data of the provider, returned to it unchanged.')
const toolMetadata = freeObject('Free-form data of the tool.')

const toolState = z.discriminatedUnion('status', [
  z.strictObject({ status: z.literal('streaming'), input: z.string() }),
  z.strictObject({ status: z.literal('running'), input, metadata: toolMetadata }),
  z.strictObject({
    status: z.literal('completed'),
    input,
    content: limitedBy(AssistantToolSchema.field.content, z.array(toolContent).min(1)),
    metadata: toolMetadata.optional(),
  }),
  z.strictObject({
    status: z.literal('error'),
    input,
    error: structuredError,
    content: limitedBy(AssistantToolSchema.field.content, z.array(toolContent).min(1)).optional(),
    metadata: toolMetadata.optional(),
  }),
])

/** Shown for a tool that returned no content, since clients expect some. */
const NOTHING: z.output<typeof toolContent>[] = [{ type: 'text', text: '' }]

/** How far a tool call is. */
export const toolStates = enumTable({
  streaming: State.STREAMING,
  running: State.RUNNING,
  completed: State.COMPLETED,
  error: State.ERROR,
})

const assistantPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string(), state: providerData.optional() }),
  z.strictObject({
    type: z.literal('reasoning'),
    text: z.string(),
    state: providerData.optional(),
    time: z.strictObject({ created: time, completed: time.optional() }).optional(),
  }),
  z.strictObject({
    type: z.literal('tool'),
    id: z.string().meta({ description: 'Tool call' }),
    name: z.string(),
    executed: z.boolean().optional().meta({ description: 'Whether the provider ran it' }),
    providerState: providerData.optional(),
    providerResultState: providerData.optional(),
    state: toolState,
    time: z.strictObject({ created: time, ran: time.optional(), completed: time.optional() }),
  }),
])

export const assistant = z.strictObject({
  ...noted,
  type: z.literal('assistant'),
  time: z.strictObject({ created: time, streamed: time.optional(), completed: time.optional() }),
  agent: z.string(),
  model: modelRef,
  content: limitedBy(AssistantMessageSchema.field.parts, z.array(assistantPart)),
  snapshot: z
    .strictObject({ start: z.string().optional(), end: z.string().optional(), files: z.array(z.string()).optional() })
    .optional(),
  providerState: providerData.optional(),
  finish: finish.optional(),
  rawFinish: z.string().optional(),
  cost: cost.optional(),
  tokens: tokenUsage.optional(),
  error: structuredError.optional(),
  retry: retry.optional(),
})

type PartJson = JsonOf<typeof assistantPart>
type ToolJson = Extract<PartJson, { type: 'tool' }>

/** What every message has. */
export interface Noted {
  readonly id: string
  readonly time: { readonly created: number }
  readonly metadata: JsonObject | undefined
}

export function fromAssistant(noted: Noted, step: AssistantMessage): JsonOf<typeof assistant> {
  const { snapshot } = step
  return {
    ...noted,
    type: 'assistant',
    time: { ...noted.time, streamed: step.streamTime, completed: step.completeTime },
    agent: step.agent,
    model: fromSetModel(step.model),
    content: step.parts.map(fromPart),
    snapshot: snapshot && {
      start: snapshot.start,
      end: snapshot.end,
      files: listOrAbsent(snapshot.files, (file) => file),
    },
    providerState: step.providerState,
    finish: fromFinish(step.finish),
    rawFinish: step.rawFinish,
    cost: step.costNanos === undefined ? undefined : fromCost(step.costNanos),
    tokens: step.tokens === undefined ? undefined : fromTokenUsage(step.tokens),
    error: fromError(step.error),
    retry: step.retry === undefined ? undefined : fromRetry(step.retry),
  }
}

export function fromSetModel(model: AssistantMessage['model']) {
  if (model === undefined) throw new Error('The session service returned no model')
  return fromModelRef(model)
}

function fromPart({ part }: AssistantPart): PartJson {
  switch (part.case) {
    case 'text':
      return { type: 'text', text: part.value.text, state: part.value.state }
    case 'reasoning': {
      const { text, state, createTime, completeTime } = part.value
      const time = createTime === undefined ? undefined : { created: createTime, completed: completeTime }
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
    time: { created: call.createTime, ran: call.runTime, completed: call.completeTime },
  }
}

function fromToolState(call: AssistantTool): ToolJson['state'] {
  const { state, input = {}, metadata } = call
  const content = fromToolContents(call.content)
  switch (toolStates.fromProto(state)) {
    case undefined:
    case 'streaming':
      return { status: 'streaming', input: call.rawInput }
    case 'running':
      return { status: 'running', input, metadata: metadata ?? {} }
    case 'completed':
      return { status: 'completed', input, content: content ?? NOTHING, metadata }
    case 'error':
      return { status: 'error', input, error: fromSetError(call.error), content, metadata }
  }
}
