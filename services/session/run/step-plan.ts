import { Rejection } from '#shared/rejection.ts'
import type { Agent, ToolDescription } from '../domain/agent.ts'
import type { Message } from '../domain/message.ts'
import { stepsSinceInput } from '../domain/next-action.ts'
import type { ModelRef } from '../domain/session.ts'
import { isPassing, type RunContext, RunFailure, runCall, tryPeer } from './run-context.ts'

/** Who answers in a step, and with what. */
export interface StepPlan {
  readonly agent: Agent
  readonly model: ModelRef
  readonly tools: readonly ToolDescription[]
  /** The agent may do no other step: it is told so, and calls no tools. */
  readonly lastStep: boolean
}

/**
 * Asks the catalog for agent and tools, and settles the model: the session's, else the agent's, else the default one.
 * Throws RunFailure when there is no such agent, or when the peers stay away.
 */
export async function planStep(run: RunContext, conversation: readonly Message[]): Promise<StepPlan> {
  const { session, catalog, inference, tenure } = run
  const { directory } = session.location
  const call = runCall(run)
  const ask = <T>(question: () => Promise<T>): Promise<T> => tryPeer(run, tenure.signal, question)
  try {
    const [agent, tools] = await Promise.all([
      ask(() => catalog.getAgent(call, directory, session.agent ?? '')),
      ask(() => catalog.listTools(call, directory)),
    ])
    const model = session.model ?? agent.model ?? (await ask(() => inference.defaultModel(call)))
    const lastStep = agent.steps > 0 && stepsSinceInput(conversation) + 1 >= agent.steps
    return { agent, tools, model, lastStep }
  } catch (error) {
    tenure.check()
    throw new RunFailure(planError(error, session.agent), { cause: error })
  }
}

function planError(error: unknown, agent: string | undefined) {
  const reason = error instanceof Rejection ? error.reason : ''
  if (reason === 'AGENT_NOT_FOUND') return { type: 'agent.not_found', message: `Agent not found: ${agent ?? ''}` }
  if (reason === 'CREDENTIAL_REFUSED')
    return { type: 'credential.refused', message: 'The API key is not valid any more' }
  if (isPassing(error))
    return { type: 'service.unavailable', message: 'A service that the session needs is unavailable' }
  // A directory that is gone or forbidden by now, and whatever else the catalog explains.
  return { type: `location.${reason.replace(/^LOCATION_/, '').toLowerCase()}`, message: 'The location cannot be used' }
}
