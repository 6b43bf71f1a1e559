import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Request, Response } from 'express'
import { randomText } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Call, callOf } from '../call.ts'
import { publicError } from '../errors/public-error.ts'
import type { Facade, Route } from '../facade.ts'
import { checkBody, readJson } from '../http/body.ts'
import { sendJson } from '../http/respond.ts'
import { MESSAGES_AT_ONCE, sendEvents } from '../http/sse.ts'
import { type ResponsesRequest, responsesRequest } from './body.ts'
import { chooseDialect, wantsHistoryIds } from './dialect.ts'
import { type ResponseFailure, responseFailure } from './failure.ts'
import { ResponsesFold } from './fold.ts'
import { ResponsesFrames } from './frames.ts'
import { requestEcho } from './from-generation.ts'
import { toGeneration } from './to-generate-request.ts'
import { requireHistoryIds } from './to-messages.ts'

/** What OpenRouter sends while a client waits; every client takes it for what it is, a comment. */
const HEARTBEAT = 'OPENROUTER PROCESSING'

/** `POST /api/v1/responses`: a model answers, as one JSON object or as a stream of events. */
export function responsesRoutes(facade: Facade): Route[] {
  const handle = (request: Request, response: Response): Promise<void> => createResponse(facade, request, response)
  return [{ operation: 'responses.create', method: 'post', path: '/api/v1/responses', handle }]
}

async function createResponse(facade: Facade, request: Request, response: Response): Promise<void> {
  const { clients, clock, config } = facade
  const call = callOf(response)
  if (call.requirePrincipal().kind === 'management') throw new Rejection('KEY_KIND_FORBIDDEN')
  const dialect = chooseDialect(request.headers)
  const session = sessionHeader(request)
  const body = checkBody(responsesRequest, await readJson(request, config.promptLimit))
  refusePresets(body)
  if (wantsHistoryIds(request.headers, dialect)) requireHistoryIds(body.input)
  // One random text for all ids of a response; its generation goes by it in the ledger.
  const text = randomText(24)
  call.headers.push('x-generation-id', `gen-${text}`)
  const generation = toGeneration(body, `gen-${text}`, session)
  const messages = clients.inference.streamGenerate({ generation }, call.options({ timeoutMs: undefined }))
  const seed = { id: `resp_${text}`, echo: requestEcho(body), now: () => clock.now() }
  if (body.stream !== true) {
    const fold = new ResponsesFold(seed, undefined)
    let taken = 0
    for await (const { events } of messages) {
      fold.add(events)
      if (++taken % MESSAGES_AT_ONCE === 0) await nextTurn()
    }
    if (!fold.over) throw new Error('The generation ended without its last event')
    return sendJson(response, 200, fold.toJson())
  }
  const frames = new ResponsesFrames(dialect)
  const fold = new ResponsesFold(seed, frames)
  const fail = (failure: ResponseFailure): string => {
    fold.fail(failure)
    return frames.take()
  }
  await sendEvents(response, {
    messages,
    frame({ events }) {
      fold.add(events)
      return frames.take()
    },
    end: () => fail(CUT),
    failed: (error) => fail(explain(facade, call, error)),
    heartbeat: HEARTBEAT,
    heartbeatMs: config.heartbeatMs,
    // An answer cannot be taken up again elsewhere: it gets most of the time that the server has left.
    stop: { share: 0.75, frames: () => fail(STOPPING) },
    lifecycle: facade.lifecycle,
  })
}

const CUT: ResponseFailure = { code: 'server_error', message: 'Internal Server Error', errorType: 'server' }
const STOPPING: ResponseFailure = { ...CUT, message: 'The server is stopping' }

function explain({ logger }: Facade, call: Call, error: unknown): ResponseFailure {
  const known = publicError('gateway', error)
  if (known.ref !== undefined) {
    call.ref = known.ref
    logger.error({ requestId: call.requestId, ref: known.ref, err: error }, 'internal error')
  }
  return responseFailure(error, known)
}

/** No preset is known here; an unknown one is not found. */
function refusePresets({ model, preset }: ResponsesRequest): void {
  if (model.includes('@preset/') || preset != null) throw new Rejection('ROUTE_NOT_FOUND')
}

function sessionHeader({ headers }: Request): string {
  const session = headers['x-session-id'] ?? ''
  if (typeof session === 'string' && session.length <= 256) return session
  throw new Rejection('HEADER_INVALID', { field: 'x-session-id', problem: 'must have at most 256 characters' })
}
