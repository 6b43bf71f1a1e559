import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ToolContentSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { StructuredErrorSchema } from '#gen/portico/session/v1/message_pb.js'
import type {
  AgentAttachmentSchema,
  FileAttachmentSchema,
  PromptSchema,
  SkillAttachmentSchema,
  SyntheticTextSchema,
} from '#gen/portico/session/v1/session_pb.js'
import type {
  AgentAttachment,
  FileAttachment,
  Prompt,
  SkillAttachment,
  StructuredError,
  SyntheticText,
  ToolContent,
} from '#services/session/domain/message.ts'
import { type BlobContents, contentOf } from '../blob-contents.ts'

/** A prompt as other services see it, with the content of its files. */
export function promptToProto(prompt: Prompt, blobs: BlobContents): MessageInitShape<typeof PromptSchema> {
  return {
    text: prompt.text,
    files: prompt.files.map((file) => fileToProto(file, blobs)),
    agents: prompt.agents.map(agentToProto),
    skills: prompt.skills?.map(skillToProto) ?? [],
    ...(prompt.metadata === undefined ? {} : { metadata: prompt.metadata }),
  }
}

/** A synthetic text as other services see it. */
export function syntheticToProto({
  text,
  description,
  metadata,
}: SyntheticText): MessageInitShape<typeof SyntheticTextSchema> {
  return {
    text,
    ...(description === undefined ? {} : { description }),
    ...(metadata === undefined ? {} : { metadata }),
  }
}

/** A failure as other services see it. */
export function errorToProto({
  type,
  message,
  status,
  response,
}: StructuredError): MessageInitShape<typeof StructuredErrorSchema> {
  return { type, message, status, ...(response === undefined ? {} : { responseBody: response }) }
}

/** What a tool returned, as other services see it. */
export function toolContentToProto(
  content: ToolContent,
  blobs: BlobContents,
): MessageInitShape<typeof ToolContentSchema> {
  if (content.type === 'text') return { content: { case: 'text', value: content.text } }
  const { mime, name } = content
  const where = content.type === 'link' ? { uri: content.uri } : contentOf(blobs, content.blob)
  return { content: { case: 'file', value: { ...where, mime, name } } }
}

function fileToProto(file: FileAttachment, blobs: BlobContents): MessageInitShape<typeof FileAttachmentSchema> {
  const { name, description, mention } = file
  return {
    ...contentOf(blobs, file.blob),
    mime: file.mime,
    uri: file.uri,
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(mention === undefined ? {} : { mention }),
  }
}

function agentToProto({ name, mention }: AgentAttachment): MessageInitShape<typeof AgentAttachmentSchema> {
  return { name, ...(mention === undefined ? {} : { mention }) }
}

function skillToProto(skill: SkillAttachment): MessageInitShape<typeof SkillAttachmentSchema> {
  const { id: skillId, name, text, mention } = skill
  return { skillId, name, text, mention }
}
