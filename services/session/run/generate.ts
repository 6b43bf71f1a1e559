import {
  type GenerationRequest,
  Message_Role as Role,
  ToolChoice_Mode,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { Message } from '#gen/portico/session/v1/message_pb.js'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import { shownOf } from '../domain/compaction/coverage.ts'
import { CACHE_MARK, withCacheMarks } from '../domain/generation/cache-marks.ts'
import { generationRequest, textContent, turn } from '../domain/generation/generation.ts'
import { modelMessages } from '../domain/generation/model-messages.ts'
import { absenceDelay, isAway, retryDelay } from '../domain/generation/retry.ts'
import { blobsOf } from '../domain/message.ts'
import { CUT, type Failure, toFailure } from './failure.ts'
import { type RunContext, RunFailure } from './run-context.ts'
import type { StepPlan } from './step-plan.ts'
import type { StepRecorder } from './step-recorder.ts'

/**
 * Media beyond this many bytes are left out of a request, the oldest first: between processes, it must stay below 64
 * MiB.
 */
const MAX_MEDIA_BYTES = 40 * 1024 * 1024

/**
 * Calls the model, and records what it answers. A call that fails in a way that may pass is repeated (`retryDelay`, or
 * `absenceDelay` where a service of ours is away); in the end throws RunFailure. No tool has been started by then:
 * tools run after the answer is complete. The cost of a failed call is only recorded in the ledger of the inference
 * service.
 */
export async function generate(
  run: RunContext,
  plan: StepPlan,
  conversation: readonly Message[],
  step: StepRecorder,
): Promise<void> {
  const request = stepRequest(run, plan, conversation, await readMedia(run, conversation))
  const tries = { away: 0, failed: 0 }
  for (let attempt = 1; ; attempt++) {
    await run.slot.acquire(run.tenure.signal)
    if (attempt > 1) step.retried()
    const failure = await callModel(run, { ...request, requestId: `${step.draft.message.messageId}-${attempt}` }, step)
    if (failure === undefined) return step.streamed()
    run.tenure.check()
    const { clock, random } = run
    const delay = isAway(failure.reason)
      ? absenceDelay(++tries.away, random)
      : retryDelay(failure, ++tries.failed, clock.now(), random)
    if (delay === undefined) throw new RunFailure(failure.error, { cause: failure.cause })
    await step.retry(attempt, clock.now() + delay, failure.error)
    await run.pause(delay, run.tenure.signal)
  }
}

/**
 * One call of the provider; returns how it failed. The last event completes the answer, so a failure of the stream
 * after it does not matter. Errors of the store are not caught here.
 */
async function callModel(
  run: RunContext,
  request: GenerationRequest,
  step: StepRecorder,
): Promise<Failure | undefined> {
  const { tenure, principal, inference } = run
  const call = { principal, requestId: request.requestId, signal: tenure.signal }
  const batches = inference.generate(call, request)[Symbol.asyncIterator]()
  let done = false
  try {
    for (;;) {
      const next = await batches.next().catch((cause: unknown) => ({ failure: toFailure(cause) }))
      done = 'failure' in next || next.done === true
      if ('failure' in next) return next.failure
      if (next.done === true) return toFailure(CUT)
      tenure.check()
      await step.take(next.value)
      const { problem } = step.draft
      if (problem !== undefined) throw new RunFailure(problem)
      if (step.draft.finished) return undefined
    }
  } finally {
    if (!done) await batches.return?.().catch(() => {})
  }
}

function stepRequest(
  run: RunContext,
  plan: StepPlan,
  conversation: readonly Message[],
  contents: ReadonlyMap<string, Uint8Array>,
): GenerationRequest {
  const { agent, model, tools, lastStep } = plan
  const { session } = run
  const system = turn(Role.SYSTEM, textContent(systemText(plan, session)))
  return generationRequest(agent, model, {
    sessionId: session.sessionId,
    origin: 'session',
    // The next request will begin as this one does.
    messages: withCacheMarks([system, ...modelMessages(conversation, model, contents)]),
    tools: tools.map(({ name, description, inputSchema: parameters = {} }, i) => {
      return { name, description, parameters, cacheControl: i === tools.length - 1 ? CACHE_MARK : undefined }
    }),
    toolChoice: tools.length > 0 && lastStep ? { mode: ToolChoice_Mode.NONE } : undefined,
  })
}

/** The content of the media that fit, the newest first. */
async function readMedia(run: RunContext, conversation: readonly Message[]): Promise<ReadonlyMap<string, Uint8Array>> {
  const { blobs, tenure } = run
  const loaded = new Map<string, Uint8Array>()
  let room = MAX_MEDIA_BYTES
  for (const { hash, size } of shownOf(conversation).flatMap(blobsOf).reverse()) {
    if (loaded.has(hash) || size > room) continue
    const data = await blobs.get(tenure.lease.workspace, hash)
    if (data === undefined) continue
    loaded.set(hash, data)
    room -= size
  }
  return loaded
}

const DEFAULT =
  'You work on a software project together with its developer. Look into the files with your tools before you answer ' +
  'questions about them or change them; do what was asked, no more, and say plainly what you did and what you could not do.'

const LAST_STEP =
  'This is the last step before you have to stop: no tools can be called any more. Say what was done, what is left, and ' +
  'what you would do next.'

/**
 * The system text of a step: the agent's own or the default ones, where it works, those for every agent there, and
 * whether it has to stop.
 */
function systemText({ agent, instructions, lastStep }: StepPlan, { directory }: Session): string {
  const parts = [agent.system ?? DEFAULT, `The project directory is ${directory}.`, ...instructions]
  return (lastStep ? [...parts, LAST_STEP] : parts).join('\n\n')
}
