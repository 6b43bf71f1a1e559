import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type GenerationRequestSchema,
  type ResponseFormatSchema,
  ToolChoice_Mode,
  type ToolChoiceSchema,
  type ToolSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { CreateResponseBody } from './body.ts'
import { toMessages } from './to-messages.ts'

type Generation = MessageInitShape<typeof GenerationRequestSchema>
type Struct = NonNullable<Generation['providerBody']>

/** What the inference service is asked for. Rejects with BODY_INVALID where a picture, file or sound cannot be read. */
export function toGenerationRequest(body: CreateResponseBody, requestId: string, sessionHeader: string): Generation {
  const choice = toChoice(body)
  const format = toFormat(body.text?.format)
  const extra = providerBody(body)
  return {
    requestId,
    origin: 'responses',
    model: body.model,
    messages: toMessages(body),
    tools: toTools(body),
    user: (body.user ?? body.safety_identifier) || undefined,
    // What keeps requests on one upstream, in order of preference (gateway facts 6.3).
    sessionId: (body.session_id ?? (sessionHeader || body.prompt_cache_key)) || undefined,
    sampling: {
      ...given('temperature', body.temperature),
      ...given('topP', body.top_p),
      ...given('topK', body.top_k),
      ...given('frequencyPenalty', body.frequency_penalty),
      ...given('presencePenalty', body.presence_penalty),
    },
    ...given('maxOutputTokens', body.max_output_tokens),
    ...given('parallelToolCalls', body.parallel_tool_calls),
    ...given('reasoning', toReasoning(body.reasoning)),
    ...given('toolChoice', choice),
    ...given('responseFormat', format),
    ...given('providerBody', extra),
    ...given('verbosity', body.text?.verbosity),
  }
}

/** A member that is left out when there is nothing to say. */
function given<K extends string, T>(name: K, value: T | null | undefined): { readonly [name in K]?: T } {
  return value == null ? {} : ({ [name]: value } as { readonly [name in K]: T })
}

/** The tools that the model is shown. */
export function offeredTools({ tools, tool_choice: choice }: CreateResponseBody) {
  const narrowed = typeof choice === 'object' && choice?.type === 'allowed_tools' ? choice.tools : undefined
  const allowed = narrowed === undefined ? undefined : new Set(narrowed.map(({ name }) => name))
  return (tools ?? []).filter(({ name }) => allowed?.has(name) !== false)
}

function toTools(body: CreateResponseBody): MessageInitShape<typeof ToolSchema>[] {
  return offeredTools(body).map(({ name, description, parameters, strict }) => ({
    name,
    description: description || undefined,
    ...given('parameters', parameters as Struct | null | undefined),
    ...given('strict', strict),
  }))
}

const MODES = { auto: ToolChoice_Mode.AUTO, none: ToolChoice_Mode.NONE, required: ToolChoice_Mode.REQUIRED } as const

function toChoice({ tool_choice: choice }: CreateResponseBody): MessageInitShape<typeof ToolChoiceSchema> | undefined {
  if (choice == null) return undefined
  if (typeof choice === 'string') return { mode: MODES[choice] }
  return choice.type === 'function' ? { mode: ToolChoice_Mode.NAMED, name: choice.name } : { mode: MODES[choice.mode] }
}

function toReasoning(reasoning: CreateResponseBody['reasoning']): Generation['reasoning'] | undefined {
  if (reasoning == null) return undefined
  const { effort, summary, enabled, max_tokens: maxTokens } = reasoning
  const implied = enabled === false ? 'none' : enabled === true && maxTokens == null ? 'medium' : undefined
  return { effort: effort ?? implied, ...given('summary', summary), ...given('maxTokens', maxTokens) }
}

function toFormat(
  format: NonNullable<CreateResponseBody['text']>['format'],
): MessageInitShape<typeof ResponseFormatSchema> | undefined {
  if (format == null || format.type === 'text') return undefined
  if (format.type === 'json_object') return { format: { case: 'jsonObject', value: {} } }
  const { name, schema, strict, description } = format
  const value = { name, schema: schema as Struct, description: description || undefined, ...given('strict', strict) }
  return { format: { case: 'jsonSchema', value } }
}

/** What has no place of its own in a generation, as chat completions name it. */
function providerBody({ modalities, image_config }: CreateResponseBody): Struct | undefined {
  if (modalities?.includes('image') !== true) return undefined
  const extra = { modalities, ...(image_config == null ? {} : { image_config }) }
  return extra as Struct
}
