import { create } from '@bufbuild/protobuf'
import type { Location, ToolAccess } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type RunToolResponse, ToolProgressedSchema } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { sameAccesses } from '../domain/access.ts'
import type { ToolOutcome } from '../domain/tool-outcome.ts'
import type { CallIdentity, Tools } from '../ports/tools.ts'
import type { AdmittedCall } from './tool-calls.ts'

export interface CallRequest {
  readonly name: string
  readonly input: JsonObject
  /** What permission was given for. */
  readonly grant: readonly ToolAccess[]
  readonly identity: CallIdentity
  /** Called with the outcome before the call counts as ended; what it returns is the outcome. */
  readonly after: (outcome: ToolOutcome, signal: AbortSignal) => Promise<ToolOutcome>
}

/**
 * Runs an admitted call; yields its progress, any number of times, and finally how it ended. The work does not depend
 * on anybody pulling: it continues, and settles the call, by itself. For a slow reader, only the newest progress is
 * kept. Aborting the caller's signal, or leaving the iteration, ends the work; the iteration ends, by throwing the
 * signal's reason, when nothing of it is left. Rejects with TOOL_ACCESS_CHANGED if the call touches something else than
 * permission was given for.
 */
export async function* runCall(
  tools: Tools,
  location: Location,
  call: AdmittedCall,
  request: CallRequest,
  caller: AbortSignal,
): AsyncGenerator<RunToolResponse['event']> {
  const left = new AbortController()
  const signal = AbortSignal.any([caller, call.signal, left.signal])
  let newest: JsonObject | undefined
  let ended = false
  let woken = Promise.withResolvers<void>()
  const progress = (metadata: JsonObject): void => {
    newest = metadata
    woken.resolve()
  }
  const work = execute(tools, location, call, request, signal, progress)
  const done = work
    .catch(() => {})
    .finally(() => {
      ended = true
      woken.resolve()
    })
  try {
    while (!ended) {
      await woken.promise
      // The wake-up is consumed whether or not anything is passed on: a promise that stays resolved would never let go
      // of the thread.
      woken = Promise.withResolvers()
      const metadata = newest
      newest = undefined
      if (metadata !== undefined && !signal.aborted)
        yield { case: 'progressed', value: create(ToolProgressedSchema, { metadata }) }
    }
    yield await work
  } finally {
    left.abort()
    await done
  }
}

async function execute(
  tools: Tools,
  location: Location,
  call: AdmittedCall,
  { name, input, grant, identity, after }: CallRequest,
  signal: AbortSignal,
  progress: (metadata: JsonObject) => void,
): Promise<ToolOutcome> {
  let started = false
  try {
    const prepared = await tools.prepare(location, name, input)
    if (!sameAccesses(prepared.accesses, grant)) throw new Rejection('TOOL_ACCESS_CHANGED')
    signal.throwIfAborted()
    started = true
    return await after(await prepared.run(signal, progress, identity), signal)
  } finally {
    call.settle(!started)
  }
}
