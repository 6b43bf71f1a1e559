import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import type { InboxItem } from '#gen/portico/session/v1/session_pb.js'
import type { PromptSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import type { JsonOf } from '../kinds.ts'
import { toStruct } from '../records/free.ts'
import { fromInboxItem, type inboxUser } from '../records/inbox-item.ts'
import { toDelivery, toMention } from '../records/prompt.ts'
import type { promptBody } from './schemas.ts'

type PromptBody = z.output<typeof promptBody>
type Wrapped = NonNullable<PromptBody['prompt']>
type File = NonNullable<Wrapped['files']>[number]
type Agent = NonNullable<Wrapped['agents']>[number]
type Skill = NonNullable<PromptBody['skills']>[number]

/** `newId` is used if the body has no id; it is minted in the gateway, so that a repeated call admits nothing twice. */
export function toPromptSession(
  sessionId: string,
  { prompt, ...body }: PromptBody,
  newId: () => string,
): MessageInitShape<typeof PromptSessionRequestSchema> {
  const { text = '', files, agents, skills, metadata } = prompt ?? body
  return {
    sessionId,
    messageId: body.id ?? newId(),
    text,
    files: files?.map(toFile) ?? [],
    agents: agents?.map(toAgent) ?? [],
    skills: skills?.map(toSkill) ?? [],
    parked: body.resume === false,
    ...(metadata == null ? {} : { metadata: toStruct(metadata) }),
    ...(body.delivery == null ? {} : { delivery: toDelivery(body.delivery) }),
  }
}

function toFile({ uri, name, description, mention, source }: File) {
  return {
    uri,
    ...(name == null ? {} : { name }),
    ...(description == null ? {} : { description }),
    ...toMention(mention ?? source),
  }
}

function toSkill({ id, mention }: Skill) {
  return { skillId: id, ...toMention(mention) }
}

function toAgent({ name, mention, source }: Agent) {
  return { name, ...toMention(mention ?? source) }
}

export function fromPromptItem(given: InboxItem | undefined): JsonOf<typeof inboxUser> {
  const item = fromInboxItem(given)
  if (item.type !== 'user') throw new Error('The session service returned another kind of item')
  return item
}
