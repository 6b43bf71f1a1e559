import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import { compactionStatuses, type message, shellStatuses } from '#gateway/records/message.ts'
import { toModelRef } from '#gateway/records/model.ts'
import { outcomes } from '#gateway/records/outcome.ts'
import { toMention } from '#gateway/records/prompt.ts'
import { toTime } from '#gateway/records/time.ts'
import { placedContent } from '#gateway/records/tool-content.ts'
import type { MessageSchema } from '#gen/portico/session/v1/message_pb.js'
import type { FileAttachmentSchema, SessionLocationSchema } from '#gen/portico/session/v1/session_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { toStep } from './to-step.ts'
import { toCost, toError, toTokens } from './to-values.ts'

export type MessageJson = z.output<typeof message>
type Of<T extends MessageJson['type']> = Extract<MessageJson, { type: T }>
type Init = MessageInitShape<typeof MessageSchema>
type Kind = NonNullable<Init['kind']>

/** A message of an import; its files name content that was kept before. */
export function toMessage(json: MessageJson): Init {
  const metadata = json.type === 'user' || json.type === 'synthetic' ? {} : { metadata: json.metadata }
  return { messageId: json.id, createTime: toTime(json.time.created), kind: toKind(json), ...metadata } as Init
}

function toKind(json: MessageJson): Kind {
  switch (json.type) {
    case 'user':
      return toUser(json)
    case 'assistant':
      return { case: 'assistant', value: toStep(json) }
    case 'synthetic': {
      const { text, description, metadata } = json
      return { case: 'synthetic', value: { text, description, metadata } } as Kind
    }
    case 'system':
      return { case: 'system', value: { text: json.text, description: json.description } }
    case 'skill':
      return { case: 'skill', value: { skillId: json.skill, name: json.name, text: json.text } }
    case 'shell':
      return toShell(json)
    case 'compaction':
      return toCompaction(json)
    case 'agent-switched':
      return { case: 'agentSwitched', value: { agent: json.agent, previous: json.previous } }
    case 'model-switched': {
      const previous = json.previous === undefined ? {} : { previous: toModelRef(json.previous) }
      return { case: 'modelSwitched', value: { model: toModelRef(json.model), ...previous } }
    }
    case 'location-switched': {
      const previous = json.previous === undefined ? {} : { previous: toLocation(json.previous) }
      return { case: 'locationSwitched', value: { location: toLocation(json), ...previous } }
    }
    case 'idle': {
      const error = json.error === undefined ? {} : { error: toError(json.error) }
      return { case: 'idle', value: { outcome: outcomes.toProto(json.outcome), ...error } }
    }
  }
}

function toUser({ text, files = [], agents = [], skills = [], metadata }: Of<'user'>): Kind {
  const value = {
    text,
    files: files.map(toFile),
    agents: agents.map(({ name, mention }) => ({ name, ...toMention(mention) })),
    skills: skills.map(({ id, name, text, mention }) => ({
      skillId: id,
      name,
      text,
      ...toMention(mention),
    })),
    metadata,
  }
  return { case: 'user', value } as Kind
}

function toFile(file: NonNullable<Of<'user'>['files']>[number]): MessageInitShape<typeof FileAttachmentSchema> {
  const { mime, source, name, description, mention } = file
  const uri = source.type === 'uri' ? source.uri : undefined
  return { mime, uri, ...contentOf(file.data), name, description, ...toMention(mention) }
}

function contentOf(data: string) {
  const content = placedContent(data)
  if (content !== undefined) return content
  throw new Rejection('BODY_INVALID', { field: 'messages.files.data', problem: 'must be written without escapes' })
}

function toShell(json: Of<'shell'>): Kind {
  const { shellID: shellId, command, status, exit, output, time } = json
  const completeTime = time.completed === undefined ? {} : { completeTime: toTime(time.completed) }
  const printed = output && { ...output, cursor: BigInt(output.cursor), size: BigInt(output.size) }
  const value = {
    shellId,
    command,
    status: shellStatuses.toProto(status),
    exitCode: exit,
    output: printed,
  }
  return { case: 'shell', value: { ...value, ...completeTime } }
}

function toCompaction(json: Of<'compaction'>): Kind {
  const begun = { status: compactionStatuses.toProto(json.status), manual: json.reason === 'manual' }
  if (json.status === 'running') {
    return { case: 'compaction', value: { ...begun, summary: json.summary, recent: json.recent } }
  }
  const spent = { ...toCost(json.cost), tokens: json.tokens && toTokens(json.tokens) }
  if (json.status === 'failed') return { case: 'compaction', value: { ...begun, ...spent, error: toError(json.error) } }
  const { summary, recent, model, providerState, providerContext } = json
  const made = { summary, recent, model: model && toModelRef(model), providerState, providerContext }
  return { case: 'compaction', value: { ...begun, ...spent, ...made } } as Kind
}

function toLocation(at: {
  readonly location: { readonly directory: string }
  readonly projectID?: string | undefined
  readonly subpath?: string | undefined
}): MessageInitShape<typeof SessionLocationSchema> {
  return { directory: at.location.directory, projectId: at.projectID ?? '', subpath: at.subpath ?? '' }
}
