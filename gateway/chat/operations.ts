import { z } from 'zod'
import { OF_USERS } from '../credentials.ts'
import { asked, GENERATION_REASONS, generationHeaders, newGeneration } from '../generation/call.ts'
import { toRouterMetadata, wantsRouterMetadata } from '../generation/router-metadata.ts'
import { streamedAnswer } from '../generation/streamed-answer.ts'
import { jsonOrEvents, whole } from '../kinds.ts'
import { operation } from '../operation.ts'
import { createChatBody } from './body.ts'
import { chatChunk } from './chunk.ts'
import { chatCompletion } from './completion.ts'
import { CUT_OFF, chatFailure, STOPPING } from './failure.ts'
import { type ChatSeed, failedCompletion, fromGeneration, type Served } from './from-generation.ts'
import { publicField } from './public-field.ts'
import { ChatFold } from './stream/fold.ts'
import { ChatFrames } from './stream/frames.ts'
import { toGenerationRequest } from './to-generation-request.ts'

export const createChatCompletion = operation({
  id: 'chat.completions.create',
  method: 'post',
  path: '/api/v1/chat/completions',
  family: 'gateway',
  credentials: OF_USERS,
  summary: 'Generates a chat completion, as one JSON object or as a stream of chunks',
  headers: z.object(generationHeaders),
  body: createChatBody,
  limit: 'promptLimit',
  answer: jsonOrEvents(chatCompletion, chatChunk),
  errors: GENERATION_REASONS,
  async handle({ inference }, { headers, body, call, facade }) {
    const { requestId: id } = newGeneration(call, facade)
    const request = asked(toGenerationRequest(body, id, headers), call)
    const model = body.model ?? body.models?.[0] ?? ''
    const describe = (served: Served) => toRouterMetadata(model, served, (field) => publicField(field, body, headers))
    const seed: ChatSeed = {
      id,
      created: Math.floor(facade.clock.now() / 1_000),
      model,
      withoutThoughts: body.reasoning?.exclude === true || body.include_reasoning === false,
      describe: wantsRouterMetadata(headers) ? describe : undefined,
    }
    if (body.stream !== true) {
      const generated = inference.generate(request, call.options())
      return whole(
        generated.then(({ generation }) => fromGeneration(seed, generation)),
        (error, shown) => failedCompletion(seed, chatFailure(error, shown)),
      )
    }
    const frames = new ChatFrames(seed)
    const fold = new ChatFold(seed, frames)
    const writer = { fold, frames, failureOf: chatFailure, cutOff: CUT_OFF, stopping: STOPPING }
    return streamedAnswer(inference.streamGenerate(request, call.options()), writer)
  },
  publicField: (field, { body, headers }) => publicField(field, body, headers),
})
