import { z } from 'zod'
import { GenerationRequestSchema, SamplingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { requireModel, routingSettings } from '../generation/routing.ts'
import { endUser, promptCacheOptions, reasoning, sharedSettings } from '../generation/settings.ts'
import { freeObject, limitedBy, notYet, refinedBy } from '../shape.ts'
import { input } from './input.ts'
import { text, toolChoice, tools } from './tools.ts'

const { model, maxOutputTokens, sessionId } = GenerationRequestSchema.field
const { temperature, topP, topK, frequencyPenalty, presencePenalty, topLogProbabilities } = SamplingSchema.field
/** Limited, since every event that contains the whole response repeats it. */
const echoed = z.string().max(8_388_608)

/** Further members of an answer. OpenAI sends them on request, others whenever they have them. */
const include = z
  .array(
    z.enum([
      'reasoning.encrypted_content',
      'message.output_text.logprobs',
      'message.input_image.image_url',
      'file_search_call.results',
      'web_search_call.action.sources',
      'web_search_call.results',
      'computer_call_output.output.image_url',
      'code_interpreter_call.outputs',
    ]),
  )
  .max(256)

/** Whether a conversation that is too long for the model is cut in its middle. */
const truncation = z.enum(['auto', 'disabled'])

const members = z.object({
  model: limitedBy(model, z.string().min(1))
    .nullish()
    .meta({ description: 'Default: the first of `models`, else that of the preset; one of them is required' }),
  input,
  stream: z.boolean().nullish(),

  // Honoured.
  instructions: echoed.nullish(),
  max_output_tokens: limitedBy(maxOutputTokens, z.int32()).nullish(),
  temperature: limitedBy(temperature, z.number()).nullish(),
  top_p: limitedBy(topP, z.number()).nullish(),
  top_k: limitedBy(topK, z.int32()).nullish(),
  frequency_penalty: limitedBy(frequencyPenalty, z.number()).nullish(),
  presence_penalty: limitedBy(presencePenalty, z.number()).nullish(),
  tools: tools.nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: reasoning.nullish(),
  text: text.nullish(),
  modalities: z
    .array(z.enum(['text', 'image']))
    .max(2)
    .nullish(),
  image_config: freeObject('Each image model has settings of its own.').nullish(),
  top_logprobs: limitedBy(topLogProbabilities, z.int32()).nullish(),
  safety_identifier: endUser.nullish(),
  prompt_cache_key: limitedBy(sessionId, echoed).nullish(),
  prompt_cache_options: promptCacheOptions.nullish(),
  ...sharedSettings,

  // Only sent to OpenAI; for other providers they are reported as left out.
  include: include.nullish(),
  truncation: truncation.nullish(),

  // Only `max_tool_calls` and the filters of `provider` are applied; the others are reported as not applied, since
  // there are no fallbacks, server tools or searches of X.
  ...routingSettings,
  x_search_filter: freeObject('The posts that a search on X covers.').nullish(),

  // Refused unless they have no effect.
  store: z.literal(false, { error: 'nothing is stored: only false is allowed' }).nullish(),
  previous_response_id: z.null({ error: 'nothing is stored: send the whole history as input' }).optional(),
  conversation: z.null({ error: 'nothing is stored: send the whole history as input' }).optional(),
  background: z.literal(false, { error: 'background responses are not supported' }).nullish(),
  prompt: notYet('a stored prompt'),
})

/** A checked body of `POST /api/v1/responses`. */
export type CreateResponseBody = z.output<typeof members>

/** The body of `POST /api/v1/presets/{slug}/responses`: the conversation, and how it is sent and stored, is ignored. */
export const presetBody = members
  .omit({ input: true, stream: true, include: true, preset: true, metadata: true, debug: true })
  .omit({ safety_identifier: true, prompt_cache_key: true })
  .omit({ store: true, previous_response_id: true, conversation: true, background: true })
  .omit({ prompt: true, x_search_filter: true })

/**
 * The body of `POST /api/v1/responses`. Unknown members are ignored. What would change the answer and cannot be
 * honoured is refused.
 */
export const createResponseBody = members.check(refinedBy(requireModel))
