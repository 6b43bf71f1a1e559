import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type ResponseFormatSchema,
  ToolChoice_Mode,
  type ToolChoiceSchema,
  type ToolSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { GenerationInit } from '../generation/call.ts'
import { given, toReasoning, toSharedSettings } from '../generation/to-shared.ts'
import type { CreateResponseBody } from './body.ts'

type Struct = NonNullable<GenerationInit['providerBody']>
/** A body without what is to be answered. */
export type ResponseSettings = Omit<CreateResponseBody, 'input' | 'stream' | 'model'> & {
  readonly model?: string | undefined
}

/** All that a body says of how an answer is made: neither the conversation nor whose it is. */
export function toSettings(body: ResponseSettings): Partial<GenerationInit> {
  return {
    ...given('model', body.model),
    tools: toTools(body),
    sampling: {
      ...given('temperature', body.temperature),
      ...given('topP', body.top_p),
      ...given('topK', body.top_k),
      ...given('frequencyPenalty', body.frequency_penalty),
      ...given('presencePenalty', body.presence_penalty),
      ...given('topLogProbabilities', body.top_logprobs || wantsTokens(body)),
    },
    ...given('maxOutputTokens', body.max_output_tokens),
    ...given('parallelToolCalls', body.parallel_tool_calls),
    ...given('reasoning', toReasoning(body.reasoning)),
    ...given('toolChoice', toChoice(body)),
    ...given('responseFormat', toFormat(body.text?.format)),
    ...given('providerBody', providerBody(body)),
    ...given('verbosity', body.text?.verbosity),
    ...toSharedSettings(body),
  }
}

/** The system text of a body; empty: none. */
export function toSystem({ instructions }: Pick<CreateResponseBody, 'instructions'>): string {
  return instructions ?? ''
}

/** Log probabilities without alternatives. */
function wantsTokens({ include }: ResponseSettings): 0 | undefined {
  return include?.includes('message.output_text.logprobs') === true ? 0 : undefined
}

/** The tools that the model is shown. */
export function offeredTools({ tools, tool_choice: choice }: Pick<CreateResponseBody, 'tools' | 'tool_choice'>) {
  const narrowed = typeof choice === 'object' && choice?.type === 'allowed_tools' ? choice.tools : undefined
  const allowed = narrowed === undefined ? undefined : new Set(narrowed.map(({ name }) => name))
  return (tools ?? []).filter(({ name }) => allowed?.has(name) !== false)
}

function toTools(body: ResponseSettings): MessageInitShape<typeof ToolSchema>[] {
  return offeredTools(body).map(({ name, description, parameters, strict }) => ({
    name,
    description: description || undefined,
    ...given('parameters', parameters as Struct | null | undefined),
    ...given('strict', strict),
  }))
}

const MODES = { auto: ToolChoice_Mode.AUTO, none: ToolChoice_Mode.NONE, required: ToolChoice_Mode.REQUIRED } as const

function toChoice({ tool_choice: choice }: ResponseSettings): MessageInitShape<typeof ToolChoiceSchema> | undefined {
  if (choice == null) return undefined
  if (typeof choice === 'string') return { mode: MODES[choice] }
  return choice.type === 'function' ? { mode: ToolChoice_Mode.NAMED, name: choice.name } : { mode: MODES[choice.mode] }
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
function providerBody({ modalities, image_config }: ResponseSettings): Struct | undefined {
  if (modalities?.includes('image') !== true) return undefined
  const extra = { modalities, ...(image_config == null ? {} : { image_config }) }
  return extra as Struct
}
