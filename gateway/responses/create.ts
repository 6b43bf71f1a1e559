import type { Request, Response } from 'express'
import { randomText } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Call, callOf } from '../call.ts'
import { publicError } from '../errors/public-error.ts'
import type { Facade, Route } from '../facade.ts'
import { checkBody, readJson } from '../http/body.ts'
import { sendJson } from '../http/respond.ts'
import { sendEvents } from '../http/sse.ts'
import { type ResponsesRequest, responsesRequest } from './body.ts'
import { chooseDialect, wantsHistoryIds } from './dialect.ts'
import { requestEcho } from './echo.ts'
import { type ResponseFailure, responseFailure } from './failure.ts'
import { fromGeneration } from './from-generation.ts'
import { ResponsesFold } from './stream/fold.ts'
import { ResponsesFrames } from './stream/frames.ts'
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
  const seconds = (): number => Math.floor(clock.now() / 1_000)
  const seed = { id: `resp_${text}`, createdAt: seconds(), echo: requestEcho(body) }
  const options = call.options({ timeoutMs: undefined })
  if (body.stream !== true) {
    const { generation: whole } = await clients.inference.generate({ generation }, options)
    if (whole === undefined) throw new Error('Nothing was generated')
    return sendJson(response, 200, fromGeneration(seed, whole, seconds()))
  }
  const messages = clients.inference.streamGenerate({ generation }, options)
  const frames = new ResponsesFrames(dialect)
  const fold = new ResponsesFold(seed, frames, seconds)
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
