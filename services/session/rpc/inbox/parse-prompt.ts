import {
  type FileInput,
  FileInputSchema,
  type SkillInput,
  SkillInputSchema,
} from '#gen/portico/session/v1/session_pb.js'
import { type PromptSessionRequest, PromptSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import type { Delivery } from '#services/session/domain/inbox.ts'
import type { Mention, Prompt } from '#services/session/domain/message.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check, isWithin, parseText } from '#shared/rpc/parse.ts'
import { parseAgentName, parseMetadata } from '../parse.ts'
import { MAX_TEXT_LENGTH, parseDelivery } from './parse-admission.ts'
import type { Sent, SentFile, SentSkill } from './prepare-attachments.ts'

const checkRequest = checkLimits(PromptSessionRequestSchema)
const checkFile = checkLimits(FileInputSchema)
const checkSkill = checkLimits(SkillInputSchema)

/** A prompt of the right form. */
export interface ParsedPrompt {
  readonly words: Pick<Prompt, 'text' | 'agents' | 'metadata'>
  readonly delivery: Delivery
  readonly sent: Sent
}

/** Rejects with REQUEST_INVALID. */
export function parsePrompt(request: PromptSessionRequest): ParsedPrompt {
  checkRequest(request)
  const words = parseWords(request)
  const sent = { files: parseFiles(request.files), agents: words.agents, skills: parseSkills(request.skills) }
  checkMentions(sent)
  return { words, delivery: parseDelivery(request.delivery), sent }
}

function parseWords(request: PromptSessionRequest): ParsedPrompt['words'] {
  const { agents } = request
  return {
    text: request.text,
    agents: agents.map(({ name, mention }, i) => ({
      name: parseAgentName(`agents[${i}].name`, name),
      mention: parseMention(`agents[${i}].mention`, mention),
    })),
    metadata: parseMetadata(request.metadata),
  }
}

/** The texts that mentions quote must not be longer, in total, than a prompt may be. */
function checkMentions({ files, agents, skills }: Sent): void {
  const texts = [...files, ...agents, ...skills].map(({ mention }) => mention?.text ?? '')
  const fit = isWithin(texts.join(''), 0, MAX_TEXT_LENGTH)
  check(fit, 'text', `must not be quoted by mentions with more than ${MAX_TEXT_LENGTH} characters in total`)
}

function parseMention(field: string, mention: Mention | undefined): Mention | undefined {
  if (mention === undefined) return undefined
  const { start, end, text } = mention
  return { start, end, text: parseText(`${field}.text`, text, 0, MAX_TEXT_LENGTH) }
}

function parseFiles(files: readonly FileInput[]): readonly SentFile[] {
  return files.map((file, i) => {
    checkFile(file, `files[${i}]`)
    const { uri, name, description, mention } = file
    return { uri, name, description, mention: parseMention(`files[${i}].mention`, mention) }
  })
}

function parseSkills(skills: readonly SkillInput[]): readonly SentSkill[] {
  return skills.map((skill, i) => {
    checkSkill(skill, `skills[${i}]`)
    return { id: skill.skillId, mention: parseMention(`skills[${i}].mention`, skill.mention) }
  })
}
