import { Rejection } from '#shared/rejection.ts'
import { OF_USERS } from '../credentials.ts'
import { newGeneration } from '../generation/call.ts'
import { jsonOrEvents, stream } from '../kinds.ts'
import { operation } from '../operation.ts'
import { type CreateResponseBody, createResponseBody } from './body.ts'
import { chooseDialect, responsesHeaders, wantsHistoryIds } from './dialect.ts'
import { requestEcho } from './echo.ts'
import { responseEvent } from './events.ts'
import { CUT_OFF, type ResponseFailure, responseFailure, STOPPING } from './failure.ts'
import { fromGeneration } from './from-generation.ts'
import { publicField } from './public-field.ts'
import { responseObject } from './response.ts'
import { ResponsesFold } from './stream/fold.ts'
import { ResponsesFrames } from './stream/frames.ts'
import { toGenerationRequest } from './to-generation-request.ts'
import { requireHistoryIds } from './to-messages.ts'

/** What OpenRouter sends while a client waits; every client takes it for what it is, a comment. */
const HEARTBEAT = 'OPENROUTER PROCESSING'

export const createResponse = operation({
  id: 'responses.create',
  method: 'post',
  path: '/api/v1/responses',
  family: 'gateway',
  credentials: OF_USERS,
  summary: 'Generates a response, as one JSON object or as a stream of events',
  headers: responsesHeaders,
  body: createResponseBody,
  limit: 'promptLimit',
  answer: jsonOrEvents(responseObject, responseEvent),
  errors: [
    'MODEL_NOT_FOUND',
    'REQUEST_INVALID',
    'REQUEST_DUPLICATE',
    'PROVIDER_REFUSED',
    'PROVIDER_RATE_LIMITED',
    'PROVIDER_UNAVAILABLE',
    'PROVIDER_TIMEOUT',
  ],
  async handle({ inference }, { headers, body, call, facade }) {
    const dialect = chooseDialect(headers)
    refusePresets(body)
    if (wantsHistoryIds(headers, dialect)) requireHistoryIds(body.input)
    const { text, requestId } = newGeneration(call, facade)
    const request = { generation: toGenerationRequest(body, requestId, headers) }
    const seconds = (): number => Math.floor(facade.clock.now() / 1_000)
    const seed = { id: `resp_${text}`, createdAt: seconds(), echo: requestEcho(body) }
    if (body.stream !== true) {
      const { generation } = await inference.generate(request, call.options())
      if (generation === undefined) throw new Error('Nothing was generated')
      return { json: fromGeneration(seed, generation, seconds()) }
    }
    const frames = new ResponsesFrames(dialect)
    const fold = new ResponsesFold(seed, frames, seconds)
    const fail = (failure: ResponseFailure): string => {
      fold.fail(failure)
      return frames.take()
    }
    return stream({
      messages: inference.streamGenerate(request, call.options()),
      frame({ events }) {
        fold.add(events)
        return frames.take()
      },
      end: () => fail(CUT_OFF),
      failed: (error, shown) => fail(responseFailure(error, shown)),
      heartbeat: HEARTBEAT,
      // An answer cannot be taken up again elsewhere: it gets most of the time that the server has left.
      stop: { share: 0.75, frames: () => fail(STOPPING) },
    })
  },
  publicField: (field, { body, headers }) => publicField(field, body, headers),
})

/** No preset is known here; an unknown one is not found. */
function refusePresets({ model, preset }: CreateResponseBody): void {
  if (model.includes('@preset/') || preset != null) throw new Rejection('ROUTE_NOT_FOUND')
}
