import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import {
  type Compaction,
  Compaction_Status as CompactionStatus,
  type Message,
  type ShellCommand,
} from '#gen/portico/session/v1/message_pb.js'
import {
  type ListMessagesRequestSchema,
  ListMessagesRequest_Order as Order,
} from '#gen/portico/session/v1/session_service_pb.js'
import type { JsonOf } from '../kinds.ts'
import { orAbsent } from '../records/absent.ts'
import { fromError, fromSetError } from '../records/error.ts'
import { fromSessionLocation } from '../records/location.ts'
import { fromModelRef } from '../records/model.ts'
import { fromOutcome } from '../records/outcome.ts'
import { fromPrompt, fromSynthetic } from '../records/prompt.ts'
import { fromSetTime, fromTime } from '../records/time.ts'
import { fromCost, fromTokenUsage } from '../records/usage.ts'
import { fromAssistant, fromSetModel, type Noted } from './from-step.ts'
import type { listMessagesQuery, message } from './schemas.ts'
import { shellStatuses } from './statuses.ts'

type MessageJson = JsonOf<typeof message>

const ORDERS = { asc: Order.ASCENDING, desc: Order.DESCENDING } as const

export function toListMessages(
  sessionId: string,
  { limit, order, cursor, type }: z.output<typeof listMessagesQuery>,
): MessageInitShape<typeof ListMessagesRequestSchema> {
  return {
    sessionId,
    pageSize: limit === undefined ? 0 : Number(limit),
    pageToken: cursor ?? '',
    type: type ?? '',
    ...(order === undefined ? {} : { order: ORDERS[order] }),
  }
}

export function fromMessage(message: Message | undefined): MessageJson {
  if (message === undefined) throw new Error('The session service answered without a message')
  const id = message.messageId
  const time = { created: fromSetTime(message.createTime) }
  const noted = { id, time, metadata: message.metadata }
  const { kind } = message
  switch (kind.case) {
    case 'user':
      return { id, type: 'user', time, ...fromPrompt(kind.value) }
    case 'assistant':
      return fromAssistant(noted, kind.value)
    case 'agentSwitched':
      return { ...noted, type: 'agent-switched', agent: kind.value.agent, previous: orAbsent(kind.value.previous) }
    case 'modelSwitched': {
      const { model, previous } = kind.value
      return { ...noted, type: 'model-switched', model: fromSetModel(model), previous: fromModelRef(previous) }
    }
    case 'synthetic':
      return { id, type: 'synthetic', time, ...fromSynthetic(kind.value) }
    case 'locationSwitched': {
      const { location, previous } = kind.value
      return {
        ...{ ...noted, type: 'location-switched' },
        ...{ ...fromSessionLocation(location), previous: previous && fromSessionLocation(previous) },
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
    ...{ ...noted, type: 'shell', time: { ...noted.time, completed: fromTime(completeTime) } },
    ...{ shellID: shellId, command, status: shellStatuses.fromProto(status) ?? 'killed', exit: exitCode },
    output: output && {
      ...{ output: output.output, cursor: Number(output.cursor), size: Number(output.size) },
      truncated: output.truncated,
    },
  }
}

function fromCompaction(noted: Noted, compaction: Compaction): MessageJson {
  const { status, manual, summary, recent, model, providerState, providerContext, costNanos, tokens } = compaction
  const begun = { ...noted, type: 'compaction', reason: manual ? 'manual' : 'auto' } as const
  const spent = {
    cost: costNanos === undefined ? undefined : fromCost(costNanos),
    tokens: tokens && fromTokenUsage(tokens),
  }
  switch (status) {
    case CompactionStatus.FAILED:
      return { ...begun, status: 'failed', error: fromSetError(compaction.error), ...spent }
    case CompactionStatus.COMPLETED: {
      const made = { summary, recent, model: fromModelRef(model), providerState, providerContext }
      return { ...begun, status: 'completed', ...made, ...spent }
    }
    default:
      return { ...begun, status: 'running', summary, recent }
  }
}
