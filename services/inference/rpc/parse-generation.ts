import {
  type ResponseFormat as FormatMessage,
  type GenerationRequest as GenerationMessage,
  type Sampling as SamplingMessage,
  ToolChoice_Mode,
  type ToolChoice as ToolChoiceMessage,
  type Tool as ToolMessage,
} from '#gen/portico/inference/v1/inference_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { check } from '#shared/rpc/parse.ts'
import type { GenerationRequest, ResponseFormat, Sampling, Tool, ToolChoice } from '../domain/generation.ts'
import { parseMessages } from './parse-messages.ts'

const MAX_TOOLS = 1_024
const MAX_HEADERS = 64
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]{0,4096}$/

/** What is asked for, but for the model, which is resolved apart; rejects with REQUEST_INVALID. */
export function parseGeneration(request: GenerationMessage): Omit<GenerationRequest, 'modelId'> {
  const { requestId, maxOutputTokens, reasoning, user, sessionId, providerHeaders } = request
  check(requestId.length > 0 && requestId.length <= 128, 'request_id', 'must have 1 to 128 characters')
  check(maxOutputTokens === undefined || maxOutputTokens > 0, 'max_output_tokens', 'must be above 0')
  check((user ?? '').length <= 256, 'user', 'must have at most 256 characters')
  check((sessionId ?? '').length <= 256, 'session_id', 'must have at most 256 characters')
  check((request.verbosity ?? '').length <= 64, 'verbosity', 'must have at most 64 characters')
  check((reasoning?.maxTokens ?? 1) > 0, 'reasoning.max_tokens', 'must be above 0')
  const headers = Object.entries(providerHeaders)
  check(headers.length <= MAX_HEADERS, 'provider_headers', `must have at most ${MAX_HEADERS} items`)
  for (const [name, value] of headers) {
    check(HEADER_NAME.test(name) && HEADER_VALUE.test(value), 'provider_headers', 'must be HTTP headers')
  }
  const messages = parseMessages(request.messages)
  const tools = parseTools(request.tools)
  return {
    requestId,
    messages,
    tools,
    toolChoice: parseToolChoice(request.toolChoice, tools),
    parallelToolCalls: request.parallelToolCalls,
    maxOutputTokens,
    sampling: parseSampling(request.sampling),
    reasoning,
    responseFormat: parseFormat(request.responseFormat),
    user,
    sessionId,
    origin: request.origin,
    providerHeaders,
    providerBody: request.providerBody,
    verbosity: request.verbosity,
  }
}

function parseTools(tools: readonly ToolMessage[]): Tool[] {
  check(tools.length <= MAX_TOOLS, 'tools', `must have at most ${MAX_TOOLS} items`)
  return tools.map(({ name, description, parameters, strict }, i) => {
    check(name.length > 0 && name.length <= 128, `tools[${i}].name`, 'must have 1 to 128 characters')
    return { name, description, parameters, strict }
  })
}

const modes = enumTable<ToolChoice['mode'], ToolChoice_Mode>({
  auto: ToolChoice_Mode.AUTO,
  none: ToolChoice_Mode.NONE,
  required: ToolChoice_Mode.REQUIRED,
  named: ToolChoice_Mode.NAMED,
})

function parseToolChoice(choice: ToolChoiceMessage | undefined, tools: readonly Tool[]): ToolChoice | undefined {
  if (choice === undefined) return undefined
  const mode = modes.fromProto(choice.mode)
  check(mode !== undefined, 'tool_choice.mode', 'is not known')
  if (mode === 'required') check(tools.length > 0, 'tool_choice', 'demands a call, but there are no tools')
  if (mode !== 'named') return { mode }
  const { name } = choice
  check(name !== undefined && tools.some((tool) => tool.name === name), 'tool_choice.name', 'must be one of the tools')
  return { mode, name }
}

function parseSampling(sampling: SamplingMessage | undefined): Sampling | undefined {
  if (sampling === undefined) return undefined
  const { temperature, topP, topK, frequencyPenalty, presencePenalty, seed, stop } = sampling
  within(temperature, 0, 2, 'sampling.temperature')
  within(topP, 0, 1, 'sampling.top_p')
  within(topK, 0, Infinity, 'sampling.top_k')
  within(frequencyPenalty, -2, 2, 'sampling.frequency_penalty')
  within(presencePenalty, -2, 2, 'sampling.presence_penalty')
  check(stop.length <= 4, 'sampling.stop', 'must have at most 4 items')
  return { temperature, topP, topK, frequencyPenalty, presencePenalty, seed, stop }
}

function within(value: number | undefined, least: number, most: number, field: string): void {
  check(value === undefined || (value >= least && value <= most), field, `must be from ${least} to ${most}`)
}

function parseFormat(message: FormatMessage | undefined): ResponseFormat | undefined {
  const format = message?.format
  switch (format?.case) {
    case undefined:
      return undefined
    case 'jsonObject':
      return { type: 'json-object' }
    case 'jsonSchema': {
      const { name, schema, strict, description } = format.value
      check(name.length > 0 && name.length <= 64, 'response_format.json_schema.name', 'must have 1 to 64 characters')
      return { type: 'json-schema', name, schema: schema ?? {}, strict, description }
    }
  }
}
