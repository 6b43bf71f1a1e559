import {
  type Attribution as AttributionMessage,
  AttributionSchema,
  type ResponseFormat as FormatMessage,
  type GenerationRequest as GenerationMessage,
  GenerationRequestSchema,
  JsonSchemaFormatSchema,
  ProviderTimeoutsSchema,
  type Reasoning as ReasoningMessage,
  ReasoningSchema,
  type Routing as RoutingMessage,
  RoutingSchema,
  type Sampling as SamplingMessage,
  SamplingSchema,
  type ProviderTimeouts as TimeoutsMessage,
} from '#gen/portico/inference/v1/inference_pb.js'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import type { Attribution, GenerationRequest, Reasoning, ResponseFormat } from '../domain/generation.ts'
import type { ProviderTimeouts } from '../domain/provider-timeouts.ts'
import type { Routing } from '../domain/routing.ts'
import type { ClearedSampling, Sampling } from '../domain/sampling.ts'
import { parseExtensions, parseHeaders } from './parse-extensions.ts'
import { parseMessages } from './parse-messages.ts'
import { parseHostedTools, parseToolChoice, parseTools } from './parse-tools.ts'

const checkRequest = checkLimits(GenerationRequestSchema)
const checkSampling = checkLimits(SamplingSchema)
const checkReasoning = checkLimits(ReasoningSchema)
const checkJsonSchema = checkLimits(JsonSchemaFormatSchema)
const checkRouting = checkLimits(RoutingSchema)
const checkAttribution = checkLimits(AttributionSchema)
const checkTimeouts = checkLimits(ProviderTimeoutsSchema)
const MAX_BIAS = 100

/** Parses a request, except its model, which is resolved separately; rejects with REQUEST_INVALID. */
export function parseGeneration(request: GenerationMessage): Omit<GenerationRequest, 'modelId'> {
  const { requestId, maxOutputTokens, user, sessionId, automaticCache } = request
  checkRequest(request)
  const reasoning = parseReasoning(request.reasoning)
  const providerTimeouts = parseTimeouts(request.providerTimeouts)
  const messages = parseMessages(request.messages)
  return {
    requestId,
    messages,
    tools: parseTools(request.tools),
    toolChoice: parseToolChoice(request.toolChoice),
    parallelToolCalls: request.parallelToolCalls,
    maxOutputTokens,
    maxToolCalls: request.maxToolCalls,
    sampling: parseSampling(request.sampling),
    reasoning,
    responseFormat: parseFormat(request.responseFormat),
    user,
    sessionId,
    origin: request.origin,
    providerHeaders: parseHeaders(request.providerHeaders, 'provider_headers'),
    providerBody: request.providerBody,
    providerTimeouts,
    verbosity: request.verbosity,
    hostedTools: parseHostedTools(request.hostedTools),
    extensions: parseExtensions(request.extensions),
    routing: parseRouting(request.routing),
    preset: request.preset,
    prediction: request.prediction,
    serviceTier: request.serviceTier,
    speed: request.speed,
    trace: request.trace,
    metadata: request.metadata,
    notApplied: request.notApplied,
    attribution: parseAttribution(request.attribution),
    automaticCache: automaticCache && { ttl: automaticCache.ttl },
    excludeThoughts: request.excludeThoughts,
    endsAtOverflow: request.endsAtOverflow,
  }
}

function parseReasoning(message: ReasoningMessage | undefined): Reasoning | undefined {
  if (message === undefined) return undefined
  checkReasoning(message, 'reasoning')
  const { effort, summary, maxTokens } = message
  return { effort, summary, maxTokens }
}

function parseTimeouts(message: TimeoutsMessage | undefined): ProviderTimeouts | undefined {
  if (message === undefined) return undefined
  checkTimeouts(message, 'provider_timeouts')
  const { totalMs, headersMs, chunkMs } = message
  return { totalMs, headersMs, chunkMs }
}

function parseSampling(sampling: SamplingMessage | undefined): Sampling | undefined {
  if (sampling === undefined) return undefined
  checkSampling(sampling, 'sampling')
  const { temperature, topP, topK, frequencyPenalty, presencePenalty, seed, stop } = sampling
  const { minP, topA, repetitionPenalty, topLogProbabilities, logitBias } = sampling
  const biases = Object.values(logitBias)
  check(
    biases.every((bias) => Math.abs(bias) <= MAX_BIAS),
    'sampling.logit_bias',
    `must be from -${MAX_BIAS} to ${MAX_BIAS}`,
  )
  return {
    temperature,
    topP,
    topK,
    frequencyPenalty,
    presencePenalty,
    seed,
    stop,
    minP,
    topA,
    repetitionPenalty,
    topLogProbabilities,
    ...(biases.length === 0 ? {} : { logitBias }),
    ...(sampling.cleared.length === 0 ? {} : { cleared: sampling.cleared.map(parseCleared) }),
  }
}

const CLEARED: ReadonlyMap<string, ClearedSampling> = new Map([
  ['stop', 'stop'],
  ['logit_bias', 'logitBias'],
  ['top_log_probabilities', 'topLogProbabilities'],
])

function parseCleared(name: string): ClearedSampling {
  const cleared = CLEARED.get(name)
  check(cleared !== undefined, 'sampling.cleared', 'is not known')
  return cleared
}

function parseFormat(message: FormatMessage | undefined): ResponseFormat | undefined {
  const format = message?.format
  switch (format?.case) {
    case undefined:
      return undefined
    case 'jsonObject':
      return { type: 'json-object' }
    case 'python':
      return { type: 'python' }
    case 'grammar':
      return { type: 'grammar', grammar: format.value.grammar }
    case 'jsonSchema': {
      checkJsonSchema(format.value, 'response_format.json_schema')
      const { name, schema, strict, description } = format.value
      return { type: 'json-schema', name, schema: schema ?? {}, strict, description }
    }
  }
}

function parseRouting(routing: RoutingMessage | undefined): Routing | undefined {
  if (routing === undefined) return undefined
  checkRouting(routing, 'routing')
  const { $typeName: _, maxInputNanos, maxOutputNanos, ...demands } = routing
  return { ...demands, maxInputNanos, maxOutputNanos }
}

function parseAttribution(message: AttributionMessage | undefined): Attribution | undefined {
  if (message === undefined) return undefined
  checkAttribution(message, 'attribution')
  const { referer, title, categories, userAgent } = message
  return { referer, title, categories, userAgent }
}
