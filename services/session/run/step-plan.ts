import type { Agent, ModelRef, Tool } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Message, StructuredError } from '#gen/portico/session/v1/message_pb.js'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { stepsSinceInput } from '../domain/next-action.ts'
import type { Rules } from '../domain/permission/permission-rules.ts'
import { structuredError } from '../domain/structured-error.ts'
import { ancestorRules } from '../domain/subagent/ancestor-rules.ts'
import { callableAgents, TASK, taskTool } from '../domain/subagent/task-tool.ts'
import type { PinnedLocation } from '../ports/catalog.ts'
import type { PeerCall } from '../ports/peer-call.ts'
import { locationProblem } from './location-problem.ts'
import { isPassing, type RunContext, RunFailure, runCall, tryPeer } from './run-context.ts'
import { readAncestors } from './subagents/ancestors.ts'

type CallPeer = <T>(call: () => Promise<T>) => Promise<T>

/** How often to retry; a location that changes more often than that cannot be used. */
const MOST_TRIES = 3

export interface StepPlan {
  readonly agent: Agent
  /** Texts that follow the agent's own instructions, most general first. */
  readonly instructions: readonly string[]
  readonly model: ModelRef
  /** Tokens that the model's context has; undefined: nobody knows. */
  readonly contextLength: number | undefined
  /** The location in which tools are called, as it was when the agent was read. */
  readonly location: PinnedLocation
  readonly tools: readonly Tool[]
  /** What tool calls are judged by. */
  readonly rules: Rules
  /** Agents that it may call, as far as the rules allow; empty if the session may have no children. */
  readonly subagents: readonly Agent[]
  /** It is the agent's last step: the model is shown that, and no tools can be called. */
  readonly lastStep: boolean
}

/**
 * Gets agent and tools from the catalog, and settles the model: the session's, else the agent's, else the default one.
 * Throws RunFailure when there is no such agent, or when the peers stay away.
 */
export async function planStep(run: RunContext, conversation: readonly Message[]): Promise<StepPlan> {
  const { session, inference, tenure } = run
  const call = runCall(run)
  const callPeer: CallPeer = (peer) => tryPeer(run, tenure.signal, peer)
  try {
    const ancestors = await readAncestors(run, call, session.parentId, callPeer)
    const mayDelegate = ancestors.length < run.subagents.depth
    const { tools: others, ...pinned } = await pinLocation(run, call, callPeer, mayDelegate)
    const { agent, subagents } = pinned
    const rules = {
      agent: agent.permissions,
      session: session.permissions?.rules ?? [],
      ancestors: ancestorRules(agent.agentId, ancestors),
    }
    const tools = withTask(others, callableAgents(subagents, rules))
    const wanted = session.model ?? agent.model
    const { model, contextLength } = await callPeer(() => inference.findModel(call, wanted))
    const lastStep = agent.steps !== undefined && stepsSinceInput(conversation) + 1 >= agent.steps
    return { ...pinned, tools, rules, model, contextLength, lastStep }
  } catch (error) {
    tenure.check()
    if (error instanceof RunFailure) throw error
    throw new RunFailure(planError(error, session), { cause: error })
  }
}

/** Agents and tools of one generation of the location; another try where it has changed between the two. */
async function pinLocation({ session, catalog }: RunContext, call: PeerCall, callPeer: CallPeer, mayDelegate: boolean) {
  for (let tries = 1; ; tries++) {
    const { directory } = session
    const { agent, generation, instructions } = await callPeer(() =>
      catalog.getAgent(call, directory, session.agent, session.sessionId),
    )
    const location = { directory, generation }
    try {
      const [tools, subagents] = await Promise.all([
        callPeer(() => catalog.listTools(call, location)),
        listSubagents(location),
      ] as const)
      return { agent, instructions, location, tools, subagents }
    } catch (error) {
      if (tries === MOST_TRIES || !isGenerationGone(error)) throw error
    }
  }
  function listSubagents(location: PinnedLocation): Promise<readonly Agent[]> | [] {
    return mayDelegate ? callPeer(() => catalog.listSubagents(call, location)) : []
  }
}

/** The tools, with `task` if there is an agent to call; no other tool may have that name. */
function withTask(tools: readonly Tool[], agents: readonly Agent[]): readonly Tool[] {
  const others = tools.filter(({ name }) => name !== TASK)
  return agents.length === 0 ? others : [...others, taskTool(agents)]
}

/** Whether the catalog no longer knows the location as the step saw it. */
export function isGenerationGone(error: unknown): boolean {
  return error instanceof Rejection && error.reason === 'LOCATION_GENERATION_GONE'
}

function planError(error: unknown, { agent, directory }: Session): StructuredError {
  const reason = error instanceof Rejection ? error.reason : ''
  if (reason === 'AGENT_NOT_FOUND') return structuredError('agent.not_found', `Agent not found: ${agent ?? ''}`)
  if (reason === 'CREDENTIAL_REFUSED') return structuredError('credential.refused', 'The API key is no longer valid')
  if (isPassing(error)) return structuredError('service.unavailable', 'A service that the session needs is unavailable')
  const problem = locationProblem(error, directory) ?? `The location cannot be used: ${directory}`
  const message = `${problem}; move the session to another one`
  return structuredError(`location.${reason.replace(/^LOCATION_/, '').toLowerCase()}`, message)
}
