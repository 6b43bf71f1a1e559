import {
  type ResponseFormat as FormatMessage,
  type GenerationRequest as GenerationMessage,
  GenerationRequestSchema,
  JsonSchemaFormatSchema,
  ReasoningSchema,
  type Sampling as SamplingMessage,
  SamplingSchema,
  ToolChoice_Mode,
  type ToolChoice as ToolChoiceMessage,
  type Tool as ToolMessage,
  ToolSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import type { GenerationRequest, ResponseFormat, Sampling, Tool, ToolChoice } from '../domain/generation.ts'
import { parseMessages } from './parse-messages.ts'

const checkRequest = checkLimits(GenerationRequestSchema)
const checkSampling = checkLimits(SamplingSchema)
const checkReasoning = checkLimits(ReasoningSchema)
const checkTool = checkLimits(ToolSchema)
const checkJsonSchema = checkLimits(JsonSchemaFormatSchema)
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]{0,4096}$/

/** What is asked for, but for the model, which is resolved apart; rejects with REQUEST_INVALID. */
export function parseGeneration(request: GenerationMessage): Omit<GenerationRequest, 'modelId'> {
  const { requestId, maxOutputTokens, reasoning, user, sessionId, providerHeaders } = request
  checkRequest(request)
  if (reasoning !== undefined) checkReasoning(reasoning, 'reasoning')
  for (const [name, value] of Object.entries(providerHeaders)) {
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
  return tools.map((tool, i) => {
    checkTool(tool, `tools[${i}]`)
    const { name, description, parameters, strict } = tool
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
  checkSampling(sampling, 'sampling')
  const { temperature, topP, topK, frequencyPenalty, presencePenalty, seed, stop } = sampling
  return { temperature, topP, topK, frequencyPenalty, presencePenalty, seed, stop }
}

function parseFormat(message: FormatMessage | undefined): ResponseFormat | undefined {
  const format = message?.format
  switch (format?.case) {
    case undefined:
      return undefined
    case 'jsonObject':
      return { type: 'json-object' }
    case 'jsonSchema': {
      checkJsonSchema(format.value, 'response_format.json_schema')
      const { name, schema, strict, description } = format.value
      return { type: 'json-schema', name, schema: schema ?? {}, strict, description }
    }
  }
}
