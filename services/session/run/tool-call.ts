import { create } from '@bufbuild/protobuf'
import { type ToolContent, ToolContentSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { PrepareToolResponse, RunToolResponse } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { AssistantTool, StructuredError } from '#gen/portico/session/v1/message_pb.js'
import type { Places } from '#shared/places.ts'
import { Rejection } from '#shared/rejection.ts'
import type { CallOutcome } from '../domain/generation/call-outcome.ts'
import { TOOL_ABORTED } from '../domain/settle-aborted.ts'
import { structuredError } from '../domain/structured-error.ts'
import { TASK } from '../domain/subagent/task-tool.ts'
import type { BlobHold } from '../ports/blob-store.ts'
import { holdingBlobs } from './lifetime/holding-blobs.ts'
import { locationProblem } from './location-problem.ts'
import { isPassing, type RunContext, runCall, tryPeer } from './run-context.ts'
import type { StepPermissions } from './step-permissions.ts'
import { isGenerationGone, type StepPlan } from './step-plan.ts'
import type { StepRecorder } from './step-recorder.ts'
import { doTaskCall } from './subagents/task-call.ts'

/** The next step reads the current state of the location. */
const CHANGED = structuredError(
  'tool.location_changed',
  'The agents or tools of the project have changed; the call was not run. Call the tool again',
)

const NO_MORE = structuredError('tool.refused', 'No tools can be called in the last step')

/**
 * Does one tool call that is recorded as called: has the catalog prepare it, requests permission for its accesses, and
 * runs it, once. Problems are shown to the model; throws only when the run has to stop or the store fails.
 */
export async function doToolCall(
  run: RunContext,
  plan: StepPlan,
  step: StepRecorder,
  part: AssistantTool,
  { places, permissions }: { readonly places: Places; readonly permissions: StepPermissions },
  signal: AbortSignal,
): Promise<void> {
  if (plan.lastStep) return step.settle(part.callId, failed(NO_MORE))
  if (part.name === TASK) return doTaskCall(run, plan, step, part, permissions, signal)
  const prepared = await prepare(run, plan, part, places, signal)
  if ('error' in prepared) return step.settle(part.callId, failed(prepared.error))
  const refused = await permissions.request(part.callId, prepared, signal)
  if (refused !== undefined) return step.settle(part.callId, failed(refused))
  using _ = await places.take(signal)
  await run.slot.acquire(signal)
  signal.throwIfAborted()
  // If permission was requested, whoever takes over has to know whether the call had begun.
  if (permissions.requested.has(part.callId)) await step.begins(part.callId)
  else step.ran(part.callId)
  signal.throwIfAborted()
  run.tenure.check()
  const work = (): Promise<void> =>
    holdingBlobs(run.blobs, async (hold) => {
      const outcome = await runTool(run, plan, step, part, prepared, signal, hold)
      signal.throwIfAborted()
      await step.settle(part.callId, outcome)
    })
  await (prepared.external ? run.slot.leaveTo(work) : work())
}

async function prepare(
  run: RunContext,
  { location }: StepPlan,
  { name, input = {} }: AssistantTool,
  places: Places,
  signal: AbortSignal,
): Promise<PrepareToolResponse | { readonly error: StructuredError }> {
  using _ = await places.take(signal)
  const request = { sessionId: run.session.sessionId, name, input }
  try {
    return await tryPeer(run, signal, () => run.catalog.prepareTool(runCall(run, signal), location, request))
  } catch (error) {
    signal.throwIfAborted()
    return { error: refusal(error, name, run.session.directory) }
  }
}

function refusal(error: unknown, name: string, directory: string): StructuredError {
  if (isGenerationGone(error)) return CHANGED
  const gone = locationProblem(error, directory)
  if (gone !== undefined) return structuredError('tool.refused', gone)
  if (isPassing(error) || !(error instanceof Rejection)) {
    return structuredError('service.unavailable', 'The tools are unavailable')
  }
  const { reason, metadata } = error
  if (reason === 'TOOL_NOT_FOUND') return structuredError('tool.not_found', `There is no tool ${name}`)
  const problem = metadata.problem ?? reason
  return structuredError(reason === 'TOOL_INPUT_INVALID' ? 'tool.input_invalid' : 'tool.refused', problem)
}

/** Runs the call and follows it to its end. If it is cut off, its effects are unknown. */
async function runTool(
  run: RunContext,
  { location }: StepPlan,
  step: StepRecorder,
  part: AssistantTool,
  { accesses, input = part.input }: PrepareToolResponse,
  signal: AbortSignal,
  hold: BlobHold,
): Promise<CallOutcome> {
  const { tenure, session, catalog } = run
  const { callId, name } = part
  const events = catalog
    .runTool(runCall(run, signal), {
      ...location,
      sessionId: session.sessionId,
      // Some providers number their calls from the start in each answer.
      callId: `${step.draft.message.messageId}/${callId}`,
      fence: BigInt(tenure.lease.fence),
      name,
      input,
      grant: accesses,
    })
    [Symbol.asyncIterator]()
  for (;;) {
    const next = await events.next().catch((error: unknown) => ({ error }))
    if ('error' in next) {
      signal.throwIfAborted()
      return failed(cutOffBy(run, next.error, name))
    }
    if (next.done === true) return failed(TOOL_ABORTED)
    const { event } = next.value
    if (event.case === 'completed' || event.case === 'failed') {
      await events.return?.()
      return keep(run, event, hold)
    }
    if (event.case === 'progressed') step.progressed(callId, event.value.metadata ?? {})
  }
}

/** Reasons for which a prepared call is not begun: its plugin or server has gone in the meantime. */
const NOT_BEGUN: ReadonlySet<string> = new Set(['TOOL_NOT_FOUND', 'TOOL_UNAVAILABLE'])

function cutOffBy(run: RunContext, error: unknown, name: string): StructuredError {
  const reason = error instanceof Rejection ? error.reason : ''
  if (reason === 'TOOL_FENCED') {
    run.tenure.stop('lost')
    run.tenure.check()
  }
  if (isGenerationGone(error)) return CHANGED
  if (NOT_BEGUN.has(reason)) return refusal(error, name, run.session.directory)
  if (reason !== 'TOOL_ACCESS_CHANGED') return TOOL_ABORTED
  return structuredError(
    'tool.access_changed',
    'The call would touch other things than permission was given for; it was not run',
  )
}

async function keep(
  run: RunContext,
  event: Extract<RunToolResponse['event'], { case: 'completed' | 'failed' }>,
  hold: BlobHold,
): Promise<CallOutcome> {
  const { metadata } = event.value
  const content = await Promise.all(event.value.content.map((each) => keepFile(run, each, hold)))
  if (event.case === 'completed') return { error: undefined, content, metadata }
  const { type, message } = event.value
  return { error: structuredError(`tool.${type}`, message), content, metadata }
}

/** A piece of a result; the content of a file lies in the blob store. */
async function keepFile({ blobs, tenure }: RunContext, piece: ToolContent, hold: BlobHold): Promise<ToolContent> {
  const { content } = piece
  if (content.case !== 'file') return piece
  const { source, mime, name } = content.value
  const data = source.case === 'data' ? source.value : new Uint8Array()
  const value = await blobs.put(tenure.lease.workspace, data, hold)
  const file = { source: { case: 'blob', value }, mime, name: name || undefined } as const
  return create(ToolContentSchema, { content: { case: 'file', value: file } })
}

function failed(error: StructuredError): CallOutcome {
  return { error, content: [], metadata: undefined }
}
