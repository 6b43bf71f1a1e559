import { create } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import {
  type GenerationRequest,
  GenerationRequestSchema,
  GenerationSchema,
  LogProbabilitiesSchema,
  type Message,
  Message_RoleSchema,
  ToolChoice_Mode as Mode,
  type Part,
  type ProviderExtension,
  type ToolChoice,
  ToolChoice_ModeSchema,
  type Generation as WholeGeneration,
} from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  GenerationStartedSchema,
  type InferenceService,
  StreamGenerateResponseSchema,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { isAuthenticated, principalOf } from '#shared/rpc/call-context.ts'
import { checkAllLimits } from '#shared/rpc/field-limits.ts'
import { check, checkEnum, invalid } from '#shared/rpc/parse.ts'
import { MappedStream } from '#shared/streams.ts'
import { isMedia } from '../domain/conversation.ts'
import { CLEARED } from '../domain/preset/apply-preset.ts'
import { countTokens } from '../run/count-tokens.ts'
import { Generation, type GenerationDependencies, type GenerationInput } from '../run/generation.ts'
import { runSteps } from '../run/steps.ts'

type Handlers = Pick<ServiceImpl<typeof InferenceService>, 'generate' | 'streamGenerate' | 'countTokens'>

/** The common part of calls that generate or count tokens. */
interface Requested {
  readonly generation?: GenerationRequest
  readonly terms?: KeyTerms
}

/** The handlers of generations; see inference_service.proto. */
export function generationHandlers(dependencies: GenerationDependencies): Handlers {
  const start = async (requested: Requested, form: GenerationInput['form'], context: HandlerContext) => {
    const generation = toGeneration(requested, form, context)
    await runSteps(generation, dependencies)
    return generation
  }
  return {
    async generate(request, context) {
      const generation = await start(request, 'whole', context)
      const events: GenerationEvent[] = []
      for await (const batch of generation.answer)
        for (const event of batch) events.push(eventForCaller(event, generation))
      return { generation: wholeOf(events) }
    },
    streamGenerate(request, context) {
      let generation: Generation
      const open = async () => {
        generation = await start(request, 'streamed', context)
        return generation.answer
      }
      return new MappedStream(open, (batch) =>
        create(StreamGenerateResponseSchema, { events: batch.map((event) => eventForCaller(event, generation)) }),
      )
    },
    countTokens: (request, context) => countTokens(toGeneration(request, 'whole', context), dependencies),
  }
}

/** The requested generation, before any of its steps. Rejects with REQUEST_INVALID. */
function toGeneration(
  { generation: request, terms }: Requested,
  form: GenerationInput['form'],
  context: HandlerContext,
): Generation {
  const principal = principalOf(context)
  check(request !== undefined, 'generation', 'is missing')
  checkGeneration(request)
  const authenticated = isAuthenticated(context)
  return new Generation({ principal, authenticated, terms, caller: context.signal, form, request })
}

/** An event as the caller gets it: the first one says who answers. */
export function eventForCaller(
  whole: GenerationEvent,
  generation: Pick<Generation, 'endpoint' | 'endpoints' | 'warnings' | 'preset' | 'ownField'>,
): GenerationEvent {
  const { event } = whole
  if (event.case !== 'started') return whole
  const { providerId, modelId } = generation.endpoint
  const warnings = event.value.warnings.map((warning) => ({ ...warning, field: generation.ownField(warning.field) }))
  const value = create(GenerationStartedSchema, {
    model: `${providerId}/${modelId}`,
    providerId,
    warnings: [...generation.warnings, ...warnings],
    preset: generation.preset,
    endpointCount: generation.endpoints.length,
  })
  return { ...whole, event: { case: 'started', value } }
}

/** The generation that all its events amount to; throws if the last one is missing. */
export function wholeOf(events: readonly GenerationEvent[]): WholeGeneration {
  const whole = create(GenerationSchema)
  let isFinished = false
  for (const { event } of events) {
    switch (event.case) {
      case 'started':
      case 'finished': {
        // These have the members of a whole generation, by the same names.
        const { $typeName: _, ...members } = event.value
        Object.assign(whole, members)
        isFinished = event.case === 'finished'
        break
      }
      case 'partExtended': {
        const { index, logProbabilities } = event.value
        if (logProbabilities.length === 0) break
        whole.logProbabilities[index] ??= create(LogProbabilitiesSchema)
        for (const token of logProbabilities) whole.logProbabilities[index].tokens.push(token)
        break
      }
      case 'partEnded':
        // Parts may interleave: they are in the order in which they began.
        if (event.value.part !== undefined) whole.parts[event.value.index] = event.value.part
        break
      case 'source':
        whole.sources.push(event.value)
    }
  }
  if (!isFinished) throw new Error('The generation ended without its last event')
  return whole
}

const checkLimits = checkAllLimits(GenerationRequestSchema)
const MAX_BIAS = 100
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]{0,4096}$/

/**
 * Rejects with REQUEST_INVALID unless a request can be served. Its model, and whether there are the tools that it
 * names, are known only after a preset was applied.
 */
export function checkGeneration(request: GenerationRequest): void {
  const { messages, hostedTools, toolChoice, sampling } = request
  checkLimits(request)
  for (const [i, message] of messages.entries()) checkMessage(message, `messages[${i}]`)
  for (const [i, { format, definition }] of hostedTools.entries()) {
    check(format !== '', `hosted_tools[${i}].format`, 'must not be empty')
    check(typeof definition?.type === 'string', `hosted_tools[${i}].definition`, 'must have a type')
  }
  if (toolChoice !== undefined) checkToolChoice(toolChoice)
  const biases = Object.values(sampling?.logitBias ?? {})
  const areWithin = biases.every((bias) => Math.abs(bias) <= MAX_BIAS)
  check(areWithin, 'sampling.logit_bias', `must be from -${MAX_BIAS} to ${MAX_BIAS}`)
  const cleared = sampling?.cleared ?? []
  check(
    cleared.every((name) => Object.hasOwn(CLEARED, name)),
    'sampling.cleared',
    'is not known',
  )
  checkHeaders(request.providerHeaders, 'provider_headers')
  checkExtensions(request.extensions)
}

function checkMessage({ role, parts }: Message, field: string): void {
  checkEnum(Message_RoleSchema, role, `${field}.role`)
  for (const [i, part] of parts.entries()) checkPart(part, `${field}.parts[${i}]`)
}

function checkPart({ part }: Part, field: string): void {
  if (part.case === undefined) throw invalid(field, 'is not known')
  if (isMedia(part)) check(part.value.source.case !== undefined, field, 'requires data or a URL')
  else if (part.case === 'foreign') {
    const { format, item } = part.value
    check(format !== '' && item !== undefined, `${field}.foreign`, 'requires a format and an item')
  } else if (part.case === 'toolResult') {
    const { content } = part.value
    for (const [i, inner] of content.entries()) checkPart(inner, `${field}.tool_result.content[${i}]`)
    const isNested = content.some(({ part: { case: kind } }) => NOT_IN_RESULTS.has(kind))
    check(!isNested, field, 'must contain text, images and files')
  }
}

const NOT_IN_RESULTS: ReadonlySet<Part['part']['case']> = new Set(['toolResult', 'toolCall', 'reasoning'])

function checkToolChoice({ mode, name }: ToolChoice): void {
  checkEnum(ToolChoice_ModeSchema, mode, 'tool_choice.mode')
  if (mode === Mode.NAMED || mode === Mode.HOSTED) check(name !== undefined, 'tool_choice.name', 'must be set')
}

function checkExtensions(extensions: readonly ProviderExtension[]): void {
  const formats = new Set<string>()
  for (const [i, { format, headers }] of extensions.entries()) {
    const field = `extensions[${i}]`
    check(format !== '', `${field}.format`, 'must not be empty')
    check(!formats.has(format), `${field}.format`, 'must be unique')
    formats.add(format)
    checkHeaders(headers, `${field}.headers`)
  }
}

function checkHeaders(headers: Readonly<Record<string, string>>, field: string): void {
  for (const [name, value] of Object.entries(headers)) {
    check(HEADER_NAME.test(name) && HEADER_VALUE.test(value), field, 'must be HTTP headers')
  }
}
