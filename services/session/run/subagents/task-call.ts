import { create } from '@bufbuild/protobuf'
import { type Agent, ToolAccessSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { AssistantTool, StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { invalidInput } from '#services/session/domain/generation/call-outcome.ts'
import { callsOf, modelOf } from '#services/session/domain/message.ts'
import { structuredError } from '#services/session/domain/structured-error.ts'
import { type Delegation, delegationOf } from '#services/session/domain/subagent/delegation.ts'
import { parseTask, type TaskInput } from '#services/session/domain/subagent/task-input.ts'
import { callableNames, TASK } from '#services/session/domain/subagent/task-tool.ts'
import { Rejection } from '#shared/rejection.ts'
import { type RunContext, runCall, tryPeer } from '../run-context.ts'
import type { StepPermissions } from '../step-permissions.ts'
import type { StepPlan } from '../step-plan.ts'
import type { StepRecorder } from '../step-recorder.ts'
import { beginChild, interruptChild, isGone } from './child-session.ts'
import { followChild } from './follow-child.ts'

/** How many calls of one step may be delegated. */
const MOST_TASKS = 100

const TOO_MANY = structuredError(
  'task.too_many',
  'Too many tasks are running; the call was not run. Call the tool again later, or do the work yourself',
)

/**
 * Does one call of `task` that is recorded as called. The id of the child session is recorded before the session is
 * created; from then on, every owner of the parent waits for that child. Problems are shown to the model; throws only
 * when the run has to stop or the store fails.
 */
export async function doTaskCall(
  run: RunContext,
  plan: StepPlan,
  step: StepRecorder,
  part: AssistantTool,
  permissions: StepPermissions,
  signal: AbortSignal,
): Promise<void> {
  const refuse = (error: StructuredError) => step.settle(part.callId, { error, content: [], metadata: undefined })
  const task = parseTask(part.input ?? {})
  if ('problem' in task) return step.settle(part.callId, invalidInput(task.problem))
  const agent = plan.subagents.find(({ agentId }) => agentId === task.agent)
  if (agent === undefined) return refuse(notAnAgent(task, plan))
  const problem = await formerProblem(run, task)
  if (problem !== undefined) return refuse(problem)
  const { agentId } = agent
  const access = create(ToolAccessSchema, { action: TASK, resources: [agentId] })
  const refused = await permissions.request(part.callId, { accesses: [access], savePatterns: [agentId] }, signal)
  if (refused !== undefined) return refuse(refused)
  using place = isOneTooMany(step, part) ? undefined : run.subagents.parents.enter(run.tenure.lease)
  if (place === undefined) return refuse(TOO_MANY)
  signal.throwIfAborted()
  const delegation = { sessionID: task.former ?? run.newId('ses'), agent: agentId }
  await step.delegated(part.callId, delegation)
  await begin(run, step, part, { delegation, task, agent }, signal)
}

/** Continues a call that was delegated, or about to be, when its owner stopped or died. */
export async function resumeTaskCall(
  run: RunContext,
  step: StepRecorder,
  part: AssistantTool,
  signal: AbortSignal,
): Promise<void> {
  const delegation = delegationOf(part) as Delegation
  const task = parseTask(part.input ?? {})
  if ('problem' in task) return step.settle(part.callId, invalidInput(task.problem))
  using _ = run.subagents.parents.return(run.tenure.lease)
  signal.throwIfAborted()
  if (part.runTime !== undefined) return follow(run, step, part, delegation, signal)
  const agent = await findAgent(run, delegation.agent, signal)
  if (agent !== undefined) return begin(run, step, part, { delegation, task, agent }, signal)
  const message = `The agent ${delegation.agent} does not exist any more`
  return step.settle(part.callId, {
    error: structuredError('task.agent_unknown', message),
    content: [],
    metadata: undefined,
  })
}

/** Interrupts the child sessions of calls that nobody waits for any more. */
export async function interruptDelegates(run: Pick<RunContext, 'store' | 'tenure'>, all: readonly Delegation[]) {
  await Promise.all(all.map(({ sessionID }) => interruptChild(run, sessionID)))
}

async function begin(
  run: RunContext,
  step: StepRecorder,
  part: AssistantTool,
  request: { readonly delegation: Delegation; readonly task: TaskInput; readonly agent: Agent },
  signal: AbortSignal,
): Promise<void> {
  const { delegation, task, agent } = request
  const model = modelOf(step.draft.message.kind.value)
  const child = { id: delegation.sessionID, promptId: promptIdOf(step, part), task, agent, model }
  // Not in parallel: all of them write the parent.
  const began = await inTurn(run, signal, () => beginChild(run, child)).catch((error: unknown) => {
    if (isGone(error)) return undefined
    throw error
  })
  const { callId } = part
  if (began !== undefined) return step.settle(callId, { error: began, content: [], metadata: { ...delegation } })
  await step.delegateBegan(callId, delegation)
  await follow(run, step, part, delegation, signal)
}

async function follow(
  run: RunContext,
  step: StepRecorder,
  part: AssistantTool,
  delegation: Delegation,
  signal: AbortSignal,
) {
  const outcome = await followChild(run, delegation, promptIdOf(step, part), signal)
  signal.throwIfAborted()
  await step.settle(part.callId, outcome)
}

async function inTurn<T>({ subagents }: RunContext, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  using _ = await subagents.places.take(signal)
  return await work()
}

/** The id of the prompt that a call admits; the same for every owner. */
function promptIdOf({ draft: { message } }: StepRecorder, { callId }: AssistantTool): string {
  const { parts } = message.kind.value
  return `${message.messageId}_${parts.findIndex(({ part }) => part.case === 'tool' && part.value.callId === callId)}`
}

function isOneTooMany({ draft: { message } }: StepRecorder, { callId }: AssistantTool): boolean {
  const tasks = callsOf(message.kind.value.parts).filter(({ name }) => name === TASK)
  return tasks.findIndex((task) => task.callId === callId) >= MOST_TASKS
}

/** An agent by its id; undefined: it no longer exists. */
async function findAgent(run: RunContext, id: string, signal: AbortSignal): Promise<Agent | undefined> {
  const { catalog, session } = run
  try {
    const getAgent = () => catalog.getAgent(runCall(run, signal), session.directory, id)
    return (await tryPeer(run, signal, getAgent)).agent
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof Rejection && error.reason === 'AGENT_NOT_FOUND') return undefined
    throw error
  }
}

function notAnAgent({ agent }: TaskInput, { subagents, rules }: StepPlan): StructuredError {
  const names = callableNames(subagents, rules)
  return structuredError('task.agent_unknown', `There is no agent ${agent} that can be called; there are: ${names}`)
}

/** Why a call cannot go on with the session that it names. */
async function formerProblem({ store, tenure, session }: RunContext, { former, agent }: TaskInput) {
  if (former === undefined) return undefined
  const child = await store.getSession(tenure.lease.workspace, former)
  const type = 'task.session_unknown'
  if (child?.parentId !== session.sessionId) return structuredError(type, `There is no task ${former} of this session`)
  return child.agent === agent
    ? undefined
    : structuredError(type, `The task ${former} is one of the agent ${child.agent}`)
}
