import { z } from 'zod'
import { errorSchemas } from '../errors/schemas.ts'
import { answerGeneration } from '../generation/answer.ts'
import { GENERATION_REASONS, generationHeaders, generationOf, withTerms } from '../generation/request.ts'
import { describeTo } from '../generation/router-metadata.ts'
import { jsonOrEvents } from '../kinds.ts'
import { operation } from '../operation.ts'
import { type MessageObject, messageObject } from './answer.ts'
import { createMessageBody } from './body.ts'
import { messageEvent } from './events.ts'
import { fromGeneration } from './from-generation.ts'
import { MessagesFold } from './stream/fold.ts'
import { MessageFrames } from './stream/frames.ts'
import { toGenerationRequest } from './to-generation-request.ts'

const beta = z
  .string()
  .max(4_096)
  .optional()
  .meta({ description: 'Sent to Anthropic, together with the members that it enables' })
const messagesHeaders = z.object({ ...generationHeaders, 'anthropic-beta': beta, 'x-anthropic-beta': beta })

/** The error of a message that breaks off without a provider's error. */
const broken = (request_id: string, message: string): object => ({
  type: 'error',
  error: { type: 'api_error', message, error_type: 'server' },
  request_id,
})

export const createMessage = operation({
  id: 'messages.create',
  method: 'post',
  path: '/api/v1/messages',
  summary: 'Generates a message in the form of Anthropic’s API, as one JSON object or as a stream of events',
  headers: messagesHeaders,
  body: createMessageBody,
  limit: 'promptLimit',
  generates: true,
  // A failure that comes late, after white space was sent, is an error with the status 200.
  answer: jsonOrEvents(z.union([messageObject, errorSchemas.messages]), messageEvent),
  errors: GENERATION_REASONS,
  handle(clients, { headers, body, call }) {
    const { text, requestId } = generationOf(call)
    const seed = { id: `msg_${text}`, speed: body.speed ?? null }
    const { generation, nameOf } = toGenerationRequest(body, requestId, headers)
    call.publicField = nameOf
    const describe = describeTo(call, headers, generation)
    const request = { headers, generation, streamed: body.stream === true }
    return answerGeneration<MessageObject, object>(clients, call, request, {
      fromGeneration(generation) {
        const message = fromGeneration(seed, generation)
        return describe === undefined ? message : { ...message, openrouter_metadata: describe(generation) }
      },
      fromFailure: (failure) => failure,
      failureOf: (answer) => answer.body,
      cutOff: broken(requestId, 'Internal Server Error'),
      stopping: broken(requestId, 'The server is stopping'),
      writer() {
        const frames = new MessageFrames()
        return { frames, fold: new MessagesFold(seed, frames, (served) => describe?.(served)) }
      },
    })
  },
})

export const countMessageTokens = operation({
  id: 'messages.countTokens',
  method: 'post',
  path: '/api/v1/messages/count_tokens',
  summary: 'Counts the input tokens of a request: by the provider if it can count them, otherwise by an estimate',
  headers: messagesHeaders,
  body: createMessageBody,
  limit: 'promptLimit',
  generates: true,
  answer: z.strictObject({
    input_tokens: z.int(),
    estimated: z.boolean().meta({ description: 'Whether it is an estimate: one token per three bytes' }),
  }),
  errors: [
    'MODEL_NOT_FOUND',
    'MODEL_FORBIDDEN',
    'NO_ENDPOINT',
    'PRESET_NOT_FOUND',
    'REQUEST_INVALID',
    'REQUEST_DUPLICATE',
    'RATE_LIMITED',
    'PROVIDER_REFUSED',
  ],
  handle({ inference }, { headers, body, call }) {
    const { requestId } = generationOf(call)
    const { generation, nameOf } = toGenerationRequest(body, requestId, headers)
    call.publicField = nameOf
    const request = { ...generation, origin: 'count_tokens' }
    describeTo(call, headers, request)
    return inference.countTokens(withTerms(request, call), call.options())
  },
  present: ({ inputTokens, estimated }) => ({ input_tokens: Number(inputTokens), estimated }),
})
