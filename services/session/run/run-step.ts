import type { AssistantTool, Message, StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { Places } from '#shared/places.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import { inSpan } from '#shared/telemetry/tracing.ts'
import { isFull } from '../domain/compaction/request-size.ts'
import { newStep } from '../domain/generation/draft-part.ts'
import { STEP_ABORTED } from '../domain/generation/step-errors.ts'
import type { MessageOf } from '../domain/message.ts'
import { structuredError } from '../domain/structured-error.ts'
import { delegationOf } from '../domain/subagent/delegation.ts'
import { generate } from './generate.ts'
import { StoreFault } from './patient-port.ts'
import type { RunContext } from './run-context.ts'
import { RunFailure } from './run-context.ts'
import { StepPermissions } from './step-permissions.ts'
import { planStep, type StepPlan } from './step-plan.ts'
import { StepRecorder } from './step-recorder.ts'
import { interruptDelegates, resumeTaskCall } from './subagents/task-call.ts'
import { endTools } from './takeover/end-tools.ts'
import { isLeaseLost, Stopped } from './tenure.ts'
import { doToolCall } from './tool-call.ts'

/** How a step ended, and the context length of its model in tokens (undefined: unknown). */
export interface StepEnd {
  /**
   * `limited`: it was the agent's last step. `full`: no step was made, since most of the model's context is used up.
   */
  readonly end: 'done' | 'limited' | 'full'
  readonly contextLength: number | undefined
}

/**
 * Does one step: a provider's answer, and the tool calls that come of it. The step is written as begun before the
 * provider is called, and its calls as called before one of them is started. A provider's failure is written into the
 * step; throws RunFailure when there could be no step, and Stopped when the run was stopped: then the step is settled,
 * unless somebody else has to do it. With `mayCompact`, does nothing if most of the model's context is used up, unless
 * there was no answer since the last summary.
 */
export async function runStep(
  run: RunContext,
  conversation: readonly Message[],
  mayCompact: boolean,
): Promise<StepEnd> {
  const plan = await planStep(run, conversation)
  run.tenure.check()
  const { contextLength } = plan
  if (mayCompact && isFull(conversation, plan, run.compactionPercent)) return { end: 'full', contextLength }
  const step = new StepRecorder(run, newStep(run.newId('msg'), plan.agent.agentId, plan.model, run.clock.now()))
  await step.begin()
  try {
    await generate(run, plan, conversation, step)
    await doToolCalls(run, plan, step)
  } catch (error) {
    await settle(run, step, error)
  }
  return { end: plan.lastStep ? 'limited' : 'done', contextLength }
}

/** Continues a step of a former owner that has calls delegated to other sessions. Throws Stopped as `runStep` does. */
export async function resumeStep(run: RunContext, left: MessageOf<'assistant'>): Promise<void> {
  const step = new StepRecorder(run, left, left)
  try {
    run.tenure.check()
    await run.owned.recordProgress()
    await sideBySide(run, step, (part, signal) => resumeTaskCall(run, step, part, signal))
  } catch (error) {
    await settle(run, step, error)
  }
}

/** How many calls of a step are prepared or run at once. */
const CALLS_AT_ONCE = 16

/** Does all calls of the answer; each waits for its own permission, and for a place to run. */
async function doToolCalls(run: RunContext, plan: StepPlan, step: StepRecorder): Promise<void> {
  const shared = {
    places: new Places(CALLS_AT_ONCE),
    permissions: new StepPermissions(run, plan, step.draft.message.messageId),
  }
  await sideBySide(run, step, (part, signal) => doToolCall(run, plan, step, part, shared, signal))
}

/** Does work for all running calls in parallel; if one throws, the others are stopped. */
async function sideBySide(
  run: RunContext,
  step: StepRecorder,
  work: (part: AssistantTool, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const parts = step.draft.runningCalls
  if (parts.length === 0) return
  const broken = new AbortController()
  const signal = AbortSignal.any([run.tenure.signal, broken.signal])
  const calls = parts.map((part) => () => {
    const attributes = { 'gen_ai.tool.name': part.name }
    return inSpan('session.tool', { attributes }, () => work(part, signal)).catch((error: unknown) => {
      broken.abort(error)
      throw error
    })
  })
  await run.slot.split(calls)
  broken.signal.throwIfAborted()
}

async function settle(run: RunContext, step: StepRecorder, error: unknown): Promise<void> {
  const { tenure } = run
  if (isLeaseLost(error)) tenure.stop('lost')
  if (tenure.reason === 'lost') throw new Stopped('lost')
  if (isStoreUnavailable(error) || error instanceof StoreFault) throw error
  if (step.draft.message.kind.value.completeTime === undefined) {
    const ended = step.draft.runningCalls.length === 0 || (await endTools(run))
    const delegations = step.draft.runningCalls.flatMap((part) => delegationOf(part) ?? [])
    // Calls that may still be running are left to the next owner, which ends them before it records `aborted`, or waits
    // for them.
    if (tenure.reason === 'shutdown' && (!ended || delegations.length > 0)) throw new Stopped('shutdown')
    await interruptDelegates(run, delegations)
    // What was answered in the meantime counts, since the run goes on.
    if (tenure.reason === 'shutdown') await step.leave()
    else await step.cutOff(errorOf(error, tenure.reason !== undefined))
    // Permission requests that still wait are withdrawn.
    await run.owned.settleAborted({ exact: true })
  }
  if (tenure.reason !== undefined) throw new Stopped(tenure.reason)
  if (!(error instanceof RunFailure)) throw error
}

function errorOf(error: unknown, stopped: boolean): StructuredError {
  if (stopped) return STEP_ABORTED
  return error instanceof RunFailure ? error.error : INTERNAL
}

/** What users see of an unexpected failure. */
export const INTERNAL = structuredError('internal', 'The step failed; the log says why')
