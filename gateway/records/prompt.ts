import { z } from 'zod'
import {
  type AgentAttachment,
  Delivery,
  type FileAttachment,
  type Mention,
  type Prompt,
  type SkillAttachment,
  type SyntheticText,
} from '#gen/portico/session/v1/session_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { JsonOf } from '../kinds.ts'
import { listOrAbsent, metadata } from './free.ts'
import { name } from './ids.ts'
import { fromContent } from './tool-content.ts'

const position = z.int().min(0).max(2_147_483_647)

/** `Prompt.Mention`: where the text speaks of it. */
export const mention = z
  .strictObject({ start: position, end: position, text: z.string() })
  .meta({ id: 'Prompt.Mention' })

export const agentAttachment = z
  .strictObject({ name, mention: mention.nullish() })
  .meta({ id: 'Prompt.AgentAttachment' })

/** `Prompt.FileAttachment`: a file as it was kept. */
const fileAttachment = z
  .strictObject({
    data: z.base64(),
    mime: z.string(),
    source: z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('inline') }),
      z.strictObject({ type: z.literal('uri'), uri: z.string() }),
    ]),
    name: z.string().optional(),
    description: z.string().optional(),
    mention: mention.optional(),
  })
  .meta({ id: 'Prompt.FileAttachment' })

/** A file as events list it. */
const enqueuedFile = fileAttachment.omit({ data: true }).meta({
  id: 'Prompt.EnqueuedFile',
  description: 'A file without its content, which the inbox has, and the message once the prompt was delivered',
})

/** `Prompt.SkillAttachment`: a skill as it was kept. */
const skillAttachment = z
  .strictObject({ id: z.string(), name: z.string(), text: z.string().optional(), mention: mention.optional() })
  .meta({ id: 'Prompt.SkillAttachment' })

/** A prompt with what came with it. */
export const prompt = {
  text: z.string(),
  files: z.array(fileAttachment).optional(),
  agents: z.array(agentAttachment).optional(),
  skills: z.array(skillAttachment).optional(),
  metadata: metadata.optional(),
}

/** The same, as the event of its admission has it. */
export const enqueuedPrompt = { ...prompt, files: z.array(enqueuedFile).optional() }

/** A text that a program adds to a conversation. */
export const synthetic = {
  text: z.string(),
  description: z.string().optional(),
  metadata: metadata.optional(),
}

export const delivery = z.enum(['steer', 'queue']).meta({
  id: 'Session.Inbox.Delivery',
  description:
    '`steer`: at the next step boundary, together with all that wait. `queue`: when the session is idle and no steer waits, one at a time',
})

const deliveries = enumTable({ steer: Delivery.STEER, queue: Delivery.QUEUE })

export const toDelivery: (when: z.output<typeof delivery>) => Delivery = deliveries.toProto

export function fromDelivery(when: Delivery): z.output<typeof delivery> {
  return deliveries.fromProto(when) ?? 'steer'
}

export function fromPrompt(message: Prompt | undefined) {
  return {
    text: message?.text ?? '',
    files: listOrAbsent(message?.files, fromFile),
    agents: listOrAbsent(message?.agents, fromAgent),
    skills: listOrAbsent(message?.skills, fromSkill),
    metadata: message?.metadata,
  }
}

export function fromEnqueuedPrompt(message: Prompt) {
  return { ...fromPrompt(message), files: listOrAbsent(message.files, fromEnqueuedFile) }
}

export function fromSynthetic({ text, description, metadata }: SyntheticText) {
  return { text, description, metadata }
}

function fromFile(file: FileAttachment): JsonOf<typeof fileAttachment> {
  return {
    data: fromContent(file.source),
    ...fromEnqueuedFile(file),
  }
}

function fromEnqueuedFile(file: FileAttachment): JsonOf<typeof enqueuedFile> {
  return {
    mime: file.mime,
    source: file.uri === undefined ? { type: 'inline' } : { type: 'uri', uri: file.uri },
    name: file.name,
    description: file.description,
    mention: fromMention(file.mention),
  }
}

function fromAgent(agent: AgentAttachment): JsonOf<typeof agentAttachment> {
  return { name: agent.name, mention: fromMention(agent.mention) }
}

function fromSkill({ skillId, name, text, mention }: SkillAttachment): JsonOf<typeof skillAttachment> {
  return { id: skillId, name, text, mention: fromMention(mention) }
}

function fromMention(at: Mention | undefined): JsonOf<typeof mention> | undefined {
  return at === undefined ? undefined : { start: at.start, end: at.end, text: at.text }
}
