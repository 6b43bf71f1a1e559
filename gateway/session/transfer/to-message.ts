import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import { compactionStatuses, type message, shellStatuses } from '#gateway/records/message.ts'
import { toModelRef } from '#gateway/records/model.ts'
import { outcomes } from '#gateway/records/outcome.ts'
import type { Compaction, CompactionSchema, Message, MessageSchema } from '#gen/portico/session/v1/message_pb.js'
import type { FileAttachmentSchema, SessionLocationSchema } from '#gen/portico/session/v1/session_pb.js'
import { toNanos, toTokens } from './to-session.ts'
import { type Path, toContentBytes, toError, toStep } from './to-step.ts'

export type MessageJson = z.output<typeof message>
type Of<T extends MessageJson['type']> = Extract<MessageJson, { type: T }>
type Init = Exclude<MessageInitShape<typeof MessageSchema>, Message>
type Kind = NonNullable<Init['kind']>
type CompactionInit = Exclude<MessageInitShape<typeof CompactionSchema>, Compaction>

/** A message of an import, with the content of its files; `at`: its place in the body. Rejects with BODY_INVALID. */
export function toMessage(json: MessageJson, at: Path): Init {
  const metadata = json.type === 'user' || json.type === 'synthetic' ? undefined : json.metadata
  return { messageId: json.id, createTime: json.time.created, kind: toKind(json, at), metadata }
}

function toKind(json: MessageJson, at: Path): Kind {
  switch (json.type) {
    case 'user':
      return toUser(json, at)
    case 'assistant':
      return { case: 'assistant', value: toStep(json, at) }
    case 'synthetic': {
      const { text, description, metadata } = json
      return { case: 'synthetic', value: { text, description, metadata } }
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
      const previous = json.previous && toModelRef(json.previous)
      return { case: 'modelSwitched', value: { model: toModelRef(json.model), previous } }
    }
    case 'location-switched': {
      const previous = json.previous && toLocation(json.previous)
      return { case: 'locationSwitched', value: { location: toLocation(json), previous } }
    }
    case 'idle': {
      const error = json.error && toError(json.error)
      return { case: 'idle', value: { outcome: outcomes.toProto(json.outcome), error } }
    }
  }
}

function toUser({ text, files = [], agents = [], skills = [], metadata }: Of<'user'>, at: Path): Kind {
  return {
    case: 'user',
    value: {
      text,
      files: files.map((file, i) => toFile(file, [...at, 'files', i])),
      agents: agents.map(({ name, mention }) => ({ name, mention: mention ?? undefined })),
      skills: skills.map(({ id: skillId, name, text, mention }) => ({ skillId, name, text, mention })),
      metadata,
    },
  }
}

type FileJson = NonNullable<Of<'user'>['files']>[number]

function toFile(file: FileJson, at: Path): MessageInitShape<typeof FileAttachmentSchema> {
  const { mime, name, description, mention } = file
  const uri = file.source.type === 'uri' ? file.source.uri : undefined
  const source = { case: 'data', value: toContentBytes(file.data, [...at, 'data']) } as const
  return { source, mime, uri, name, description, mention }
}

function toShell(json: Of<'shell'>): Kind {
  const { shellID: shellId, command, status, exit, output, time } = json
  return {
    case: 'shell',
    value: {
      shellId,
      command,
      status: shellStatuses.toProto(status),
      exitCode: exit,
      output,
      completeTime: time.completed,
    },
  }
}

function toCompaction(json: Of<'compaction'>): Kind {
  const begun: CompactionInit = { status: compactionStatuses.toProto(json.status), manual: json.reason === 'manual' }
  if (json.status === 'running') {
    return { case: 'compaction', value: { ...begun, summary: json.summary, recent: json.recent } }
  }
  const spent: CompactionInit = { costNanos: toNanos(json.cost), tokens: json.tokens && toTokens(json.tokens) }
  if (json.status === 'failed') return { case: 'compaction', value: { ...begun, ...spent, error: toError(json.error) } }
  const { summary, recent, model: by, providerState, providerContext } = json
  const model = by && toModelRef(by)
  return {
    case: 'compaction',
    value: { ...begun, ...spent, summary, recent, model, providerState, providerContext },
  }
}

function toLocation(at: {
  readonly location: { readonly directory: string }
  readonly projectID?: string | undefined
  readonly subpath?: string | undefined
}): MessageInitShape<typeof SessionLocationSchema> {
  return { directory: at.location.directory, projectId: at.projectID ?? '', subpath: at.subpath ?? '' }
}
