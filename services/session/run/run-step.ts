import { Places } from '#shared/places.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import { inSpan } from '#shared/telemetry/tracing.ts'
import type { Message, StructuredError } from '../domain/message.ts'
import { STEP_ABORTED } from '../domain/settle-aborted.ts'
import { endTools } from './end-tools.ts'
import { generate } from './generate.ts'
import { StoreFault } from './patient-port.ts'
import { StepPermissions } from './permission/step-permissions.ts'
import { type RunContext, RunFailure } from './run-context.ts'
import { planStep, type StepPlan } from './step-plan.ts'
import { StepRecorder } from './step-recorder.ts'
import { isLeaseLost, Stopped } from './stopped.ts'
import { doToolCall } from './tool-call.ts'

/**
 * Does one step: a provider's answer, and the tool calls that come of it. The step is written as begun before the
 * provider is asked, and its calls as called before one of them is started. A provider's failure is written into the
 * step; throws RunFailure when there could be no step, and Stopped when the run was stopped: then the step is settled,
 * unless somebody else has to do it. Returns whether the agent has used up its steps.
 */
export async function runStep(run: RunContext, conversation: readonly Message[]): Promise<boolean> {
  const plan = await planStep(run, conversation)
  run.tenure.check()
  const step = new StepRecorder(run, plan)
  await step.begin()
  try {
    await generate(run, plan, conversation, step)
    await doToolCalls(run, plan, step)
  } catch (error) {
    await settle(run, step, error)
  }
  return plan.lastStep
}

/** So many calls of a step are prepared or run at once. */
const CALLS_AT_ONCE = 16

/** All calls of the answer, side by side: each waits for its permission by itself, and for a place where it works. */
async function doToolCalls(run: RunContext, plan: StepPlan, step: StepRecorder): Promise<void> {
  const parts = step.draft.runningCalls
  if (parts.length === 0) return
  const broken = new AbortController()
  const signal = AbortSignal.any([run.tenure.signal, broken.signal])
  const shared = {
    places: new Places(CALLS_AT_ONCE),
    permissions: new StepPermissions(run, plan, step.draft.message.id),
  }
  const calls = parts.map((part) => () => {
    const attributes = { 'gen_ai.tool.name': part.name }
    return inSpan('session.tool', { attributes }, () => doToolCall(run, plan, step, part, shared, signal)).catch(
      (error: unknown) => {
        broken.abort(error)
        throw error
      },
    )
  })
  await run.slot.split(calls)
  broken.signal.throwIfAborted()
}

async function settle(run: RunContext, step: StepRecorder, error: unknown): Promise<void> {
  const { tenure } = run
  if (isLeaseLost(error)) tenure.stop('lost')
  if (tenure.reason === 'lost') throw new Stopped('lost')
  if (isStoreUnavailable(error) || error instanceof StoreFault) throw error
  if (step.draft.message.timeCompleted === undefined) {
    const ended = step.draft.runningCalls.length === 0 || (await endTools(run))
    // What may still run is left to the next owner, who ends it before it writes `aborted`.
    if (!ended && tenure.reason === 'shutdown') throw new Stopped('shutdown')
    await step.cutOff(errorOf(error, tenure.reason !== undefined))
    // Permission requests that still wait are withdrawn.
    await run.owned.settleAborted()
  }
  if (tenure.reason !== undefined) throw new Stopped(tenure.reason)
  if (!(error instanceof RunFailure)) throw error
}

function errorOf(error: unknown, stopped: boolean): StructuredError {
  if (stopped) return STEP_ABORTED
  return error instanceof RunFailure ? error.error : INTERNAL
}

/** What users see of a failure that nobody foresaw. */
export const INTERNAL: StructuredError = { type: 'internal', message: 'The step failed; the log says why' }
