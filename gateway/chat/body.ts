import { z } from 'zod'
import { GenerationRequestSchema, SamplingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { routingSettings } from '../generation/routing.ts'
import {
  cacheControl,
  efforts,
  endUser,
  promptCacheOptions,
  reasoning,
  serviceTier,
  sessionId,
  sharedSettings,
  verbosity,
} from '../generation/settings.ts'
import { freeObject, limitedBy, mustBe, refinedBy } from '../shape.ts'
import { messages } from './messages.ts'
import { responseFormat, toolChoice, tools } from './tools.ts'

const { model, maxOutputTokens } = GenerationRequestSchema.field
const { temperature, topP, topK, minP, topA, frequencyPenalty, presencePenalty } = SamplingSchema.field
const { repetitionPenalty, stop, topLogProbabilities } = SamplingSchema.field
const tokens = limitedBy(maxOutputTokens, z.int32()).nullish()

/** What a preset keeps: how an answer is made. */
const settings = {
  model: limitedBy(model, z.string().min(1)).nullish(),
  max_tokens: tokens,
  max_completion_tokens: tokens,
  temperature: limitedBy(temperature, z.number()).nullish(),
  top_p: limitedBy(topP, z.number()).nullish(),
  top_k: limitedBy(topK, z.int32()).nullish(),
  min_p: limitedBy(minP, z.number()).nullish(),
  top_a: limitedBy(topA, z.number()).nullish(),
  frequency_penalty: limitedBy(frequencyPenalty, z.number()).nullish(),
  presence_penalty: limitedBy(presencePenalty, z.number()).nullish(),
  repetition_penalty: limitedBy(repetitionPenalty, z.number()).nullish(),
  seed: z.int().nullish(),
  stop: z
    .union([z.string(), limitedBy(stop, z.array(z.string()))], mustBe('a string or an array of strings'))
    .nullish(),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: limitedBy(topLogProbabilities, z.int32()).nullish(),
  response_format: responseFormat.nullish(),
  tools: tools.nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: reasoning.nullish(),
  reasoning_effort: efforts.nullish(),
  include_reasoning: z.boolean().nullish(),
  verbosity: verbosity.nullish(),
  prediction: z
    .object({
      type: z.literal('content'),
      content: z.union(
        [z.string(), z.array(z.object({ type: z.literal('text'), text: z.string() }))],
        mustBe('a string or an array of parts'),
      ),
    })
    .nullish(),
  modalities: z
    .array(z.enum(['text', 'image'], { error: 'only "text" and "image" are supported' }))
    .max(2)
    .nullish(),
  image_config: freeObject('Each image model has settings of its own.').nullish(),
  cache_control: cacheControl.nullish(),
  prompt_cache_options: promptCacheOptions.nullish(),
  service_tier: serviceTier.nullish(),
  transforms: z.array(z.literal('middle-out')).max(1).nullish(),
  ...routingSettings,
}

const members = z.object({
  ...sharedSettings,
  ...settings,
  messages: messages.nullish(),
  prompt: z.string().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  usage: z.object({ include: z.boolean().nullish() }).nullish(),
  n: z.literal(1, { error: 'only one choice is generated, so only 1 is allowed' }).nullish(),
  safety_identifier: endUser.nullish(),
  prompt_cache_key: sessionId.nullish(),
})

/** How the answer to a chat completion is made, from a checked body. */
export type ChatSettings = z.output<typeof presetBody>

/** A checked body of `POST /api/v1/chat/completions`. */
export type CreateChatBody = z.output<typeof members>

type Refuse = (path: (string | number)[], message: string) => void

/**
 * The body of `POST /api/v1/chat/completions`. Unknown members are ignored. What would change the answer and cannot be
 * honoured is refused.
 */
export const createChatBody = members.check(
  refinedBy((body, context) => {
    const refuse: Refuse = (path, message) => void context.addIssue({ code: 'custom', path, message })
    if (body.messages == null && body.prompt == null) refuse(['messages'], 'is required')
    refuseContradictions(body, refuse)
  }),
)

/** The body of a preset in this form: what a conversation consists of is read for its system messages alone. */
export const presetBody = z.object({ ...settings, messages: z.unknown().optional() })

function refuseContradictions(body: CreateChatBody, refuse: Refuse): void {
  const { reasoning: thinking, reasoning_effort: effort } = body
  if (effort != null && thinking?.effort != null && effort !== thinking.effort) {
    refuse(['reasoning_effort'], 'contradicts reasoning.effort')
  }
  if ((body.top_logprobs ?? 0) > 0 && body.logprobs !== true) {
    refuse(['top_logprobs'], 'requires "logprobs": true')
  }
}

type Tool = NonNullable<ChatSettings['tools']>[number]
type Choice = Exclude<NonNullable<ChatSettings['tool_choice']>, string>

/** How a tool is called; one that the provider runs is called by its type. */
export function nameOf(tool: Tool): string {
  if (tool.type === 'function') return tool.function.name
  return tool.type === 'custom' ? tool.custom.name : tool.type
}

/** The tools that a choice names. */
export function wantedBy(choice: Choice): string[] {
  switch (choice.type) {
    case 'function':
      return [choice.function.name]
    case 'custom':
      return [choice.custom.name]
    case 'allowed_tools':
      return choice.allowed_tools.tools.map((tool) =>
        tool.type === 'function' ? tool.function.name : tool.custom.name,
      )
    default:
      return [choice.type]
  }
}
