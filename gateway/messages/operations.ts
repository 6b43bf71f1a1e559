import { z } from 'zod'
import { OF_USERS } from '../credentials.ts'
import { errorSchemas } from '../errors/schemas.ts'
import { asked, GENERATION_REASONS, type GenerationIds, generationHeaders, newGeneration } from '../generation/call.ts'
import { toRouterMetadata, wantsRouterMetadata } from '../generation/router-metadata.ts'
import { streamedAnswer } from '../generation/streamed-answer.ts'
import { jsonOrEvents, whole } from '../kinds.ts'
import { operation } from '../operation.ts'
import { createMessageBody } from './body.ts'
import { messageEvent } from './events.ts'
import { fromGeneration } from './from-generation.ts'
import { messageObject } from './message.ts'
import { publicField } from './public-field.ts'
import { MessagesFold } from './stream/fold.ts'
import { MessageFrames } from './stream/frames.ts'
import { toGenerationRequest } from './to-generation-request.ts'

const beta = z
  .string()
  .max(4_096)
  .optional()
  .meta({ description: 'Goes to Anthropic, with the members that it switches on' })
const messagesHeaders = z.object({ ...generationHeaders, 'anthropic-beta': beta, 'x-anthropic-beta': beta })

/** A message that breaks off for no reason of a provider's. */
const broken = (message: string): object => ({
  type: 'error',
  error: { type: 'api_error', message, error_type: 'server' },
  request_id: null,
})

export const createMessage = operation({
  id: 'messages.create',
  method: 'post',
  path: '/api/v1/messages',
  family: 'messages',
  credentials: OF_USERS,
  summary: 'Generates a message in the form of Anthropic’s API, as one JSON object or as a stream of events',
  headers: messagesHeaders,
  body: createMessageBody,
  limit: 'promptLimit',
  // A failure that comes late, after white space was sent, is an error with the status 200.
  answer: jsonOrEvents(z.union([messageObject, errorSchemas.messages]), messageEvent),
  errors: GENERATION_REASONS,
  async handle({ inference }, { headers, body, call, facade }) {
    const ids: GenerationIds = newGeneration(call, facade)
    call.headers.push('request-id', ids.requestId)
    const request = asked(toGenerationRequest(body, ids.requestId, headers), call)
    const seed = { id: `msg_${ids.text}`, speed: body.speed ?? null }
    const metadataOf = (served: Parameters<typeof toRouterMetadata>[1]) =>
      wantsRouterMetadata(headers)
        ? toRouterMetadata(body.model, served, (field) => publicField(field, body, headers))
        : undefined
    if (body.stream !== true) {
      const generated = inference.generate(request, call.options()).then(({ generation }) => {
        if (generation === undefined) throw new Error('Nothing was generated')
        const metadata = metadataOf(generation)
        const message = fromGeneration(seed, generation)
        return metadata === undefined ? message : { ...message, openrouter_metadata: metadata }
      })
      return whole(generated, (_, shown) => shown.body)
    }
    const frames = new MessageFrames()
    const fold = new MessagesFold(seed, frames, metadataOf)
    return streamedAnswer(inference.streamGenerate(request, call.options()), {
      ...{ fold, frames, cutOff: broken('Internal Server Error'), stopping: broken('The server is stopping') },
      failureOf: (_, shown) => shown.body,
    })
  },
  publicField: (field, { body, headers }) => publicField(field, body, headers),
})

export const countMessageTokens = operation({
  id: 'messages.countTokens',
  method: 'post',
  path: '/api/v1/messages/count_tokens',
  family: 'messages',
  credentials: OF_USERS,
  summary: 'Counts the tokens of what would be asked: by the provider where it counts, else by an estimate',
  headers: messagesHeaders,
  body: createMessageBody,
  limit: 'promptLimit',
  answer: z.strictObject({
    input_tokens: z.int(),
    estimated: z.boolean().meta({ description: 'Whether it is an estimate: a token for three bytes' }),
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
  handle({ inference }, { headers, body, call, facade }) {
    const { requestId } = newGeneration(call, facade)
    const request = { ...toGenerationRequest(body, requestId, headers), origin: 'count_tokens' }
    return inference.countTokens(asked(request, call), call.options())
  },
  present: ({ inputTokens, estimated }) => ({ input_tokens: Number(inputTokens), estimated }),
  publicField: (field, { body, headers }) => publicField(field, body, headers),
})
