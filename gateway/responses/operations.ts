import type { AppliedPreset } from '#gen/portico/inference/v1/inference_pb.js'
import { answerGeneration } from '../generation/answer.ts'
import { GENERATION_REASONS, generationOf } from '../generation/request.ts'
import { describeTo } from '../generation/router-metadata.ts'
import { jsonOrEvents } from '../kinds.ts'
import { operation } from '../operation.ts'
import { createResponseBody } from './body.ts'
import { chooseDialect, responsesHeaders } from './dialect.ts'
import { presetEcho, requestEcho } from './echo.ts'
import { responseEvent } from './events.ts'
import { CUT_OFF, responseFailure, STOPPING } from './failure.ts'
import { failedResponse, fromGeneration } from './from-generation.ts'
import { responseObject } from './response.ts'
import { ResponsesFold } from './stream/fold.ts'
import { ResponsesFrames } from './stream/frames.ts'
import { toGenerationRequest } from './to-generation-request.ts'
import { requireHistoryIds } from './to-messages.ts'

export const createResponse = operation({
  id: 'responses.create',
  method: 'post',
  path: '/api/v1/responses',
  summary: 'Generates a response, as one JSON object or as a stream of events',
  headers: responsesHeaders,
  body: createResponseBody,
  limit: 'promptLimit',
  generates: true,
  answer: jsonOrEvents(responseObject, responseEvent),
  errors: GENERATION_REASONS,
  handle(clients, { headers, body, call, facade }) {
    const { responsesDialect: byDefault, historyIds } = facade.config
    const dialect = chooseDialect(headers, { atV1: call.atV1, ofKey: call.terms?.responsesDialect, byDefault })
    // OpenAI's clients send the model's messages without `id` and `status`, and could not hold a conversation
    // otherwise.
    if ((call.terms?.historyIds ?? historyIds) && dialect !== 'openai') requireHistoryIds(body.input)
    const { text, requestId } = generationOf(call)
    const seconds = (): number => Math.floor(facade.clock.now() / 1_000)
    const { generation, nameOf, offer } = toGenerationRequest(body, requestId, headers)
    call.publicField = nameOf
    const describe = describeTo(call, headers, generation)
    const echoes = { echo: requestEcho(body), echoWith: (preset: AppliedPreset) => presetEcho(body, preset, offer) }
    const seed = { id: `resp_${text}`, createdAt: seconds(), model: generation.model ?? '', ...echoes, describe }
    const request = { headers, generation, streamed: body.stream === true }
    return answerGeneration(clients, call, request, {
      fromGeneration: (generation) => fromGeneration(seed, generation, seconds()),
      fromFailure: (failure) => failedResponse(seed, failure),
      failureOf: responseFailure,
      cutOff: CUT_OFF,
      stopping: STOPPING,
      writer() {
        const frames = new ResponsesFrames(dialect)
        return { frames, fold: new ResponsesFold(seed, frames, seconds) }
      },
    })
  },
})
