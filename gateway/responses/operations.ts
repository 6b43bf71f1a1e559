import { OF_USERS } from '../credentials.ts'
import type { PublicError } from '../errors/public-error.ts'
import { asked, GENERATION_REASONS, newGeneration } from '../generation/call.ts'
import { type Served, toRouterMetadata, wantsRouterMetadata } from '../generation/router-metadata.ts'
import { streamedAnswer } from '../generation/streamed-answer.ts'
import { jsonOrEvents, whole } from '../kinds.ts'
import { operation } from '../operation.ts'
import { createResponseBody } from './body.ts'
import { chooseDialect, responsesHeaders } from './dialect.ts'
import { requestEcho } from './echo.ts'
import { responseEvent } from './events.ts'
import { CUT_OFF, responseFailure, STOPPING } from './failure.ts'
import { failedResponse, fromGeneration } from './from-generation.ts'
import { publicField } from './public-field.ts'
import { responseObject } from './response.ts'
import { ResponsesFold } from './stream/fold.ts'
import { ResponsesFrames } from './stream/frames.ts'
import { toGenerationRequest } from './to-generation-request.ts'
import { requireHistoryIds } from './to-messages.ts'

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
  errors: GENERATION_REASONS,
  async handle({ inference }, { headers, body, call, facade }) {
    const { responsesDialect: byDefault, historyIds } = facade.config
    const dialect = chooseDialect(headers, { atV1: call.atV1, ofKey: call.terms?.responsesDialect, byDefault })
    // OpenAI's clients send what the model said without either, and could otherwise hold no conversation.
    if ((call.terms?.historyIds ?? historyIds) && dialect !== 'openai') requireHistoryIds(body.input)
    const { text, requestId } = newGeneration(call, facade)
    const request = asked(toGenerationRequest(body, requestId, headers), call)
    const seconds = (): number => Math.floor(facade.clock.now() / 1_000)
    const describe = wantsRouterMetadata(headers)
      ? (served: Served) => toRouterMetadata(body.model, served, (field) => publicField(field, body, headers))
      : undefined
    const seed = { id: `resp_${text}`, createdAt: seconds(), model: body.model, echo: requestEcho(body), describe }
    if (body.stream !== true) {
      const generated = inference.generate(request, call.options())
      const late = (error: unknown, shown: PublicError) => failedResponse(seed, responseFailure(error, shown))
      return whole(
        generated.then(({ generation }) => fromGeneration(seed, generation, seconds())),
        late,
      )
    }
    const frames = new ResponsesFrames(dialect)
    const fold = new ResponsesFold(seed, frames, seconds)
    const writer = { fold, frames, failureOf: responseFailure, cutOff: CUT_OFF, stopping: STOPPING }
    return streamedAnswer(inference.streamGenerate(request, call.options()), writer)
  },
  publicField: (field, { body, headers }) => publicField(field, body, headers),
})
