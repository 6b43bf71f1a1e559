import type { JsonObject } from '#shared/json.ts'

export interface TaskInput {
  /** Id of the agent. */
  readonly agent: string
  /** A few words, for people; may be empty. */
  readonly description: string
  readonly prompt: string
  /** The session of an earlier task to continue; undefined: a new one. */
  readonly former: string | undefined
}

const MOST_PROMPT = 1_048_576
const MOST_NAME = 4_096

/** Reads the input of a call of `task`; unknown members are ignored. */
export function parseTask(input: JsonObject): TaskInput | { readonly problem: string } {
  const { description = '', prompt, subagent_type: agent, task_id: former } = input
  if (typeof agent !== 'string' || agent.trim() === '') return problem('subagent_type', 'must name an agent')
  if (agent.length > MOST_NAME) return problem('subagent_type', 'is too long')
  if (typeof description !== 'string') return problem('description', 'must be a text')
  if (typeof prompt !== 'string' || prompt.trim() === '') return problem('prompt', 'must be a non-empty string')
  if (prompt.length > MOST_PROMPT) return problem('prompt', `must have at most ${MOST_PROMPT} characters`)
  // Models send empty texts for members that they omit.
  const isGiven = former !== undefined && former !== null && former !== ''
  if (isGiven && typeof former !== 'string') return problem('task_id', 'must be the id of an earlier task')
  return { agent, description, prompt: prompt.toWellFormed(), former: isGiven ? (former as string) : undefined }
}

function problem(member: string, text: string): { readonly problem: string } {
  return { problem: `${member} ${text}` }
}
