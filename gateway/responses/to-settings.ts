import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ResponseFormatSchema } from '#gen/portico/inference/v1/inference_pb.js'
import type { JsonObject } from '#shared/json.ts'
import type { GenerationInit } from '../generation/request.ts'
import { namesPreset } from '../generation/routing.ts'
import {
  cleared,
  picturesBody,
  picturesNotApplied,
  structOf,
  toExclusion,
  toJsonFormat,
  toReasoning,
  toSharedSettings,
} from '../generation/to-shared.ts'
import type { CreateResponseBody } from './body.ts'
import { NATIVE } from './hosted.ts'
import { offerOf, toHostedTools, toToolChoice, toTools } from './to-tools.ts'

/** A body without what is to be answered. */
export type ResponseSettings = Omit<CreateResponseBody, 'input' | 'stream'> & {
  /** Its `additional_tools` are offered as well. */
  readonly input?: CreateResponseBody['input'] | undefined
}

/** All settings of a body: neither the conversation nor its sender. */
export function toSettings(body: ResponseSettings, offer = offerOf(body)): Partial<GenerationInit> {
  const own = ownMembers(body)
  // What only OpenAI supports is sent as a member of its own.
  const { reasoning, ...others } = body
  const { notApplied = [], ...shared } = toSharedSettings(others)
  return {
    tools: toTools(offer),
    hostedTools: toHostedTools(offer),
    sampling: {
      temperature: body.temperature ?? undefined,
      topP: body.top_p ?? undefined,
      topK: body.top_k ?? undefined,
      frequencyPenalty: body.frequency_penalty ?? undefined,
      presencePenalty: body.presence_penalty ?? undefined,
      topLogProbabilities: body.top_logprobs || wantsTokens(body),
      cleared: cleared({ top_log_probabilities: body.top_logprobs === 0 && wantsTokens(body) === undefined }),
    },
    maxOutputTokens: body.max_output_tokens ?? undefined,
    parallelToolCalls: body.parallel_tool_calls ?? undefined,
    reasoning: toReasoning(reasoning),
    excludeThoughts: toExclusion(reasoning?.exclude),
    toolChoice: toToolChoice(body),
    responseFormat: toFormat(body.text?.format),
    providerBody: picturesBody(body),
    verbosity: body.text?.verbosity ?? undefined,
    extensions: own && [{ format: NATIVE, body: own }],
    ...shared,
    notApplied: [
      ...notApplied,
      ...(body.x_search_filter == null ? [] : ['x_search_filter']),
      ...picturesNotApplied(body),
    ],
  }
}

/** The system text of a body; empty: none. */
export function toSystem({ instructions }: Pick<CreateResponseBody, 'instructions'>): string {
  return instructions ?? ''
}

/** Values of `include` that are not passed to OpenAI alone, since they apply to every provider. */
const FOR_ALL: ReadonlySet<string> = new Set(['reasoning.encrypted_content', 'message.output_text.logprobs'])

/** What goes to OpenAI alone, in its own form; undefined: nothing. */
function ownMembers(body: ResponseSettings): JsonObject | undefined {
  const { mode, context } = body.reasoning ?? {}
  const include = body.include?.filter((name) => !FOR_ALL.has(name)) ?? []
  // OpenAI's default only has to be set if a preset may set something else.
  const truncates = body.truncation === 'auto' || namesPreset(body)
  return structOf({
    include: include.length === 0 ? undefined : include,
    truncation: truncates ? (body.truncation ?? undefined) : undefined,
    reasoning: structOf({
      mode: mode === 'pro' ? mode : undefined,
      context: context == null || context === 'auto' ? undefined : context,
    }),
  })
}

/** Log probabilities without alternatives. */
function wantsTokens({ include }: ResponseSettings): 0 | undefined {
  return include?.includes('message.output_text.logprobs') === true ? 0 : undefined
}

function toFormat(
  format: NonNullable<CreateResponseBody['text']>['format'],
): MessageInitShape<typeof ResponseFormatSchema> | undefined {
  if (format == null) return undefined
  // Set explicitly, so that it takes precedence over a preset.
  if (format.type === 'text') return {}
  if (format.type === 'json_object') return { format: { case: 'jsonObject', value: {} } }
  return toJsonFormat(format)
}
