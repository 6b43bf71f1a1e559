import { z } from 'zod'
import { FileInputSchema, SkillInputSchema } from '#gen/portico/session/v1/session_pb.js'
import { PromptSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { sentMetadata } from '../records/free.ts'
import { messageID, name } from '../records/ids.ts'
import { agentAttachment, delivery, mention } from '../records/prompt.ts'
import { limitedBy, refinedBy } from '../shape.ts'

const file = z
  .strictObject({
    uri: name.meta({ description: '`data:` or `file:`; at most 20 MiB' }),
    name: limitedBy(FileInputSchema.field.name, name).nullish(),
    description: limitedBy(FileInputSchema.field.description, z.string()).nullish(),
    mention: mention.nullish(),
  })
  .meta({ id: 'PromptInput.FileAttachment' })

const skill = z
  .strictObject({ id: limitedBy(SkillInputSchema.field.skillId, name), mention: mention.nullish() })
  .meta({ id: 'PromptInput.SkillAttachment' })

const sent = PromptSessionRequestSchema.field
const text = limitedBy(sent.text, z.string())

const beside = {
  files: limitedBy(sent.files, z.array(file)).nullish(),
  agents: limitedBy(sent.agents, z.array(agentAttachment)).nullish(),
  skills: limitedBy(sent.skills, z.array(skill)).nullish(),
  metadata: sentMetadata.nullish(),
}

const source = mention.nullish().meta({ description: 'The `mention` of clients of 1.x' })

const besideOf1x = {
  ...beside,
  files: limitedBy(
    sent.files,
    z.array(file.extend({ source }).meta({ id: 'PromptInput.FileAttachment.V1' })),
  ).nullish(),
  agents: limitedBy(
    sent.agents,
    z.array(agentAttachment.extend({ source }).meta({ id: 'Prompt.AgentAttachment.V1' })),
  ).nullish(),
}

/** Members that may be in the body or in its member `prompt`. */
const SAID = ['text', 'files', 'agents', 'skills', 'metadata'] as const

/**
 * Body of session.prompt. Clients of 1.x wrap the prompt in `prompt`, the only member that is accepted although the
 * specification does not have it. Both forms mean the same, and exactly one must be present.
 */
export const promptBody = z
  .strictObject({
    id: messageID.nullish(),
    text: text.optional(),
    ...beside,
    prompt: z
      .strictObject({ text, ...besideOf1x })
      .nullish()
      .meta({ deprecated: true }),
    delivery: delivery.nullish(),
    resume: z.boolean().nullish(),
  })
  .check(
    refinedBy(({ prompt: wrapped, ...body }, context) => {
      const twice = wrapped == null ? undefined : SAID.find((member) => body[member] != null)
      if (twice !== undefined) {
        context.addIssue({ code: 'custom', path: [twice], message: 'must not be set together with prompt' })
      } else if (wrapped == null && body.text === undefined) {
        context.addIssue({ code: 'custom', path: ['text'], message: 'is required' })
      }
    }),
  )
