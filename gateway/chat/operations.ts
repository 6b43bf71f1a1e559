import { z } from 'zod'
import { answerGeneration } from '../generation/answer.ts'
import { GENERATION_REASONS, generationHeaders, generationOf } from '../generation/request.ts'
import { describeTo } from '../generation/router-metadata.ts'
import { jsonOrEvents } from '../kinds.ts'
import { operation } from '../operation.ts'
import { createChatBody } from './body.ts'
import { chatChunk } from './chunk.ts'
import { chatCompletion } from './completion.ts'
import { CUT_OFF, chatFailure, STOPPING } from './failure.ts'
import { type ChatSeed, failedCompletion, fromGeneration } from './from-generation.ts'
import { ChatFold } from './stream/fold.ts'
import { ChatFrames } from './stream/frames.ts'
import { toGenerationRequest } from './to-generation-request.ts'

export const createChatCompletion = operation({
  id: 'chat.completions.create',
  method: 'post',
  path: '/api/v1/chat/completions',
  summary: 'Generates a chat completion, as one JSON object or as a stream of chunks',
  headers: z.object(generationHeaders),
  body: createChatBody,
  limit: 'promptLimit',
  generates: true,
  answer: jsonOrEvents(chatCompletion, chatChunk),
  errors: GENERATION_REASONS,
  handle(clients, { headers, body, call, facade }) {
    const { requestId: id } = generationOf(call)
    const { generation, nameOf } = toGenerationRequest(body, id, headers)
    call.publicField = nameOf
    const seed: ChatSeed = {
      id,
      created: Math.floor(facade.clock.now() / 1_000),
      model: generation.model ?? '',
      describe: describeTo(call, headers, generation),
    }
    const request = { headers, generation, streamed: body.stream === true }
    return answerGeneration(clients, call, request, {
      fromGeneration: (generation) => fromGeneration(seed, generation),
      fromFailure: (failure) => failedCompletion(seed, failure),
      failureOf: chatFailure,
      cutOff: CUT_OFF,
      stopping: STOPPING,
      writer() {
        const frames = new ChatFrames(seed)
        return { frames, fold: new ChatFold(seed, frames) }
      },
    })
  },
})
