import { z } from 'zod'
import {
  type Compaction,
  Compaction_Status as CompactionStatus,
  type Message,
  type ShellCommand,
  ShellCommand_Status as ShellStatus,
} from '#gen/portico/session/v1/message_pb.js'
import type { SessionLocation } from '#gen/portico/session/v1/session_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { JsonOf } from '../kinds.ts'
import { freeObject } from '../shape.ts'
import { fromError, fromSetError, structuredError } from './error.ts'
import { fromSessionLocation, locationRef } from './location.ts'
import { fromModelRef, modelRef } from './model.ts'
import { fromOutcome, outcome } from './outcome.ts'
import { fromPrompt, fromSynthetic, prompt, synthetic } from './prompt.ts'
import { assistant, common, fromAssistant, fromSetModel, type Noted, noted, providerData } from './step.ts'
import { time } from './time.ts'
import { cost, fromCost, fromTokenUsage, tokenUsage } from './usage.ts'

/** A command that a user ran. */
const shell = z.strictObject({
  ...noted,
  type: z.literal('shell'),
  time: z.strictObject({ created: time, completed: time.optional() }),
  shellID: z.string(),
  command: z.string(),
  status: z.enum(['running', 'exited', 'timeout', 'killed']),
  exit: z.int().min(-2_147_483_648).max(2_147_483_647).optional(),
  output: z
    .strictObject({ output: z.string(), cursor: z.int().min(0), size: z.int().min(0), truncated: z.boolean() })
    .optional(),
})

const summed = { ...noted, type: z.literal('compaction'), reason: z.enum(['auto', 'manual']) }
const spent = { cost: cost.optional(), tokens: tokenUsage.optional() }

/** The conversation up to here, summarized. */
const compaction = z.discriminatedUnion('status', [
  z.strictObject({ ...summed, status: z.literal('running'), summary: z.string(), recent: z.string() }),
  z.strictObject({
    ...summed,
    status: z.literal('completed'),
    summary: z.string(),
    recent: z.string(),
    model: modelRef.optional(),
    providerState: providerData.optional(),
    providerContext: freeObject('The provider’s own form of the summarized conversation.').optional(),
    ...spent,
  }),
  z.strictObject({ ...summed, status: z.literal('failed'), error: structuredError, ...spent }),
])

/** Other servers may leave the project out. */
const place = { location: locationRef, projectID: z.string().optional(), subpath: z.string().optional() }

/** `Session.Message.Info`. */
export const message = z
  .discriminatedUnion('type', [
    z.strictObject({ ...common, type: z.literal('user'), ...prompt }),
    assistant,
    z.strictObject({
      ...noted,
      type: z.literal('agent-switched'),
      agent: z.string(),
      previous: z.string().optional(),
    }),
    z.strictObject({ ...noted, type: z.literal('model-switched'), model: modelRef, previous: modelRef.optional() }),
    z.strictObject({ ...common, type: z.literal('synthetic'), ...synthetic }),
    z.strictObject({
      ...noted,
      type: z.literal('location-switched'),
      ...place,
      previous: z.strictObject(place).optional(),
    }),
    z.strictObject({ ...noted, type: z.literal('idle'), outcome, error: structuredError.optional() }),
    z.strictObject({
      ...noted,
      type: z.literal('system'),
      text: z.string(),
      description: z.string().optional(),
    }),
    z.strictObject({ ...noted, type: z.literal('skill'), skill: z.string(), name: z.string(), text: z.string() }),
    shell,
    compaction,
  ])
  .meta({ id: 'Session.Message.Info' })

/** How far a command is. */
export const shellStatuses = enumTable({
  running: ShellStatus.RUNNING,
  exited: ShellStatus.EXITED,
  timeout: ShellStatus.TIMEOUT,
  killed: ShellStatus.KILLED,
})

/** How far the making of a summary is. */
export const compactionStatuses = enumTable({
  running: CompactionStatus.RUNNING,
  completed: CompactionStatus.COMPLETED,
  failed: CompactionStatus.FAILED,
})

type MessageJson = JsonOf<typeof message>

export function fromMessage(message: Message | undefined): MessageJson {
  if (message === undefined) throw new Error('The session service returned no message')
  const id = message.messageId
  const time = { created: message.createTime }
  const noted = { id, time, metadata: message.metadata }
  const { kind } = message
  switch (kind.case) {
    case 'user':
      return { id, type: 'user', time, ...fromPrompt(kind.value) }
    case 'assistant':
      return fromAssistant(noted, kind.value)
    case 'agentSwitched':
      return { ...noted, type: 'agent-switched', agent: kind.value.agent, previous: kind.value.previous }
    case 'modelSwitched': {
      const { model, previous } = kind.value
      return { ...noted, type: 'model-switched', model: fromSetModel(model), previous: fromModelRef(previous) }
    }
    case 'synthetic':
      return { id, type: 'synthetic', time, ...fromSynthetic(kind.value) }
    case 'locationSwitched': {
      const { location, previous } = kind.value
      return {
        ...noted,
        type: 'location-switched',
        ...fromPlace(location),
        previous: previous && fromPlace(previous),
      }
    }
    case 'idle': {
      const outcome = fromOutcome(kind.value.outcome)
      if (outcome === undefined) throw new Error(`Message ${id} has no outcome`)
      return { ...noted, type: 'idle', outcome, error: fromError(kind.value.error) }
    }
    case 'system':
      return { ...noted, type: 'system', text: kind.value.text, description: kind.value.description }
    case 'skill': {
      const { skillId: skill, name, text } = kind.value
      return { ...noted, type: 'skill', skill, name, text }
    }
    case 'shell':
      return fromShell(noted, kind.value)
    case 'compaction':
      return fromCompaction(noted, kind.value)
    case undefined:
      throw new Error(`Message ${id} has no kind that this version knows`)
  }
}

function fromShell(noted: Noted, shell: ShellCommand): MessageJson {
  const { shellId, command, status, exitCode, output, completeTime } = shell
  return {
    ...noted,
    type: 'shell',
    time: { ...noted.time, completed: completeTime },
    shellID: shellId,
    command,
    status: shellStatuses.fromProto(status) ?? 'killed',
    exit: exitCode,
    output: output && {
      output: output.output,
      cursor: output.cursor,
      size: output.size,
      truncated: output.truncated,
    },
  }
}

function fromCompaction(noted: Noted, compaction: Compaction): MessageJson {
  const { status, manual, summary = '', recent = '', model, costNanos, tokens } = compaction
  const begun = { ...noted, type: 'compaction', reason: manual ? 'manual' : 'auto' } as const
  const spent = {
    cost: costNanos === undefined ? undefined : fromCost(costNanos),
    tokens: tokens && fromTokenUsage(tokens),
  }
  switch (compactionStatuses.fromProto(status)) {
    case 'failed':
      return { ...begun, status: 'failed', error: fromSetError(compaction.error), ...spent }
    case 'completed': {
      const { providerState, providerContext } = compaction
      const made = { summary, recent, model: fromModelRef(model), providerState, providerContext }
      return { ...begun, status: 'completed', ...made, ...spent }
    }
    default:
      return { ...begun, status: 'running', summary, recent }
  }
}

function fromPlace(at: SessionLocation | undefined): JsonOf<z.ZodObject<typeof place>> {
  const { location, ...project } = fromSessionLocation(at)
  return project.projectID === '' ? { location } : { location, ...project }
}
