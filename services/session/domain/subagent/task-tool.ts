import { create } from '@bufbuild/protobuf'
import {
  type Agent,
  PermissionRule_Effect as Effect,
  type Tool,
  ToolAccessSchema,
  ToolSchema,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import { judgeAccess, type Rules } from '../permission/permission-rules.ts'

/** Name of the tool by which an agent has another one work for it, and the permission action of its calls. */
export const TASK = 'task'

/** How many characters of the agents' descriptions a model is shown in all. */
const MOST_SHOWN = 20_000

/** The agents that may be called under these rules, with or without a permission request. */
export function callableAgents(agents: readonly Agent[], rules: Rules): Agent[] {
  const accessTo = (agentId: string) => create(ToolAccessSchema, { action: TASK, resources: [agentId] })
  return agents.filter(({ agentId }) => judgeAccess(rules, accessTo(agentId)).effect !== Effect.DENY)
}

/** The names of those, for a model. */
export function callableNames(agents: readonly Agent[], rules: Rules): string {
  const names = callableAgents(agents, rules).map(({ agentId }) => agentId)
  return names.join(', ').slice(0, MOST_SHOWN).toWellFormed()
}

/** The tool description for a model that may call these agents. */
export function taskTool(agents: readonly Agent[]): Tool {
  const lines = agents.map(
    ({ agentId, description = 'No description' }) => `- ${agentId}: ${description.replaceAll('\n', ' ')}`,
  )
  const listed = lines.join('\n').slice(0, MOST_SHOWN).toWellFormed()
  return create(ToolSchema, { name: TASK, description: `${ABOUT}\n\nAgents:\n${listed}`, inputSchema: SCHEMA })
}

const ABOUT = `Has another agent do a task in a session of its own, and returns its last answer.

- The agent knows nothing of this conversation: the prompt must say all that it needs, and what it is to answer.
- Call the tool several times in one answer to have agents work side by side.
- The user does not see the agent's answer: say what matters of it.
- The result begins with a task_id. With it, another call goes on with the same session.`

const text = (description: string) => ({ type: 'string', description })

const SCHEMA = {
  type: 'object',
  properties: {
    description: text('A description of the task in 3 to 5 words'),
    prompt: text('The task for the agent'),
    subagent_type: text('The agent that does it'),
    task_id: text('The task_id of an earlier task, to continue its session; absent: a new one'),
  },
  required: ['description', 'prompt', 'subagent_type'],
}
