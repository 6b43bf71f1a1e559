import { create } from '@bufbuild/protobuf'
import { AgentAttachmentSchema, FileInputSchema, SkillInputSchema } from '#gen/portico/session/v1/session_pb.js'
import { type PromptSessionRequest, PromptSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import type { EditablePrompt } from '#services/session/ports/catalog.ts'
import { defined } from '../defined.ts'
import { deliveries } from '../enums.ts'
import { parseDelivery } from './parse-admission.ts'

/** What plugins are shown of a prompt. */
export function editable({ text, files, agents, skills, metadata, delivery }: PromptSessionRequest): EditablePrompt {
  return {
    text,
    metadata,
    delivery: parseDelivery(delivery),
    files: files.map(({ uri, name, description }) => ({ uri, name, description })),
    agents: agents.map(({ name }) => name),
    skills: skills.map(({ skillId }) => skillId),
  }
}

/**
 * The prompt as the plugins want it. Mentions of files, agents and skills are kept; of several with the same name, each
 * keeps its own.
 */
export function withEdits(request: PromptSessionRequest, wanted: EditablePrompt): PromptSessionRequest {
  const { text, metadata, delivery } = wanted
  const files = [...request.files]
  const agents = [...request.agents]
  const skills = [...request.skills]
  return create(PromptSessionRequestSchema, {
    ...request,
    text,
    metadata,
    delivery: deliveries.toProto(delivery),
    files: wanted.files.map((file) => {
      const mention = take(files, ({ uri }) => uri === file.uri)?.mention
      return create(FileInputSchema, defined({ ...file, mention }))
    }),
    agents: wanted.agents.map(
      (name) => take(agents, (agent) => agent.name === name) ?? create(AgentAttachmentSchema, { name }),
    ),
    skills: wanted.skills.map(
      (skillId) => take(skills, (skill) => skill.skillId === skillId) ?? create(SkillInputSchema, { skillId }),
    ),
  })
}

/** Removes the first match from a list, and returns it. */
function take<T>(from: T[], isSought: (one: T) => boolean): T | undefined {
  const at = from.findIndex(isSought)
  return at < 0 ? undefined : from.splice(at, 1)[0]
}
