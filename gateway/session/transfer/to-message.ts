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
export function toMessage(said: MessageJson): Init {
  const metadata = said.type === 'user' || said.type === 'synthetic' ? {} : { metadata: said.metadata }
  return { messageId: said.id, createTime: toTime(said.time.created), kind: toKind(said), ...metadata } as Init
}

function toKind(said: MessageJson): Kind {
  switch (said.type) {
    case 'user':
      return toUser(said)
    case 'assistant':
      return { case: 'assistant', value: toStep(said) }
    case 'synthetic': {
      const { text, description, metadata } = said
      return { case: 'synthetic', value: { text, description, metadata } } as Kind
    }
    case 'system':
      return { case: 'system', value: { text: said.text, description: said.description } }
    case 'skill':
      return { case: 'skill', value: { skillId: said.skill, name: said.name, text: said.text } }
    case 'shell':
      return toShell(said)
    case 'compaction':
      return toCompaction(said)
    case 'agent-switched':
      return { case: 'agentSwitched', value: { agent: said.agent, previous: said.previous } }
    case 'model-switched': {
      const previous = said.previous === undefined ? {} : { previous: toModelRef(said.previous) }
      return { case: 'modelSwitched', value: { model: toModelRef(said.model), ...previous } }
    }
    case 'location-switched': {
      const previous = said.previous === undefined ? {} : { previous: toLocation(said.previous) }
      return { case: 'locationSwitched', value: { location: toLocation(said), ...previous } }
    }
    case 'idle': {
      const error = said.error === undefined ? {} : { error: toError(said.error) }
      return { case: 'idle', value: { outcome: outcomes.toProto(said.outcome), ...error } }
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

function toShell(said: Of<'shell'>): Kind {
  const { shellID: shellId, command, status, exit, output, time } = said
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

function toCompaction(said: Of<'compaction'>): Kind {
  const begun = { status: compactionStatuses.toProto(said.status), manual: said.reason === 'manual' }
  if (said.status === 'running') {
    return { case: 'compaction', value: { ...begun, summary: said.summary, recent: said.recent } }
  }
  const spent = { ...toCost(said.cost), tokens: said.tokens && toTokens(said.tokens) }
  if (said.status === 'failed') return { case: 'compaction', value: { ...begun, ...spent, error: toError(said.error) } }
  const { summary, recent, model, providerState, providerContext } = said
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
