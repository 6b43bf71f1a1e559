import { create } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import {
  type GenerationRequest,
  GenerationSchema,
  LogProbabilitiesSchema,
  type Generation as WholeGeneration,
} from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  GenerationStartedSchema,
  type InferenceService,
  StreamGenerateResponseSchema,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { isAuthenticated, principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'
import { MappedStream } from '#shared/streams.ts'
import { countTokens } from '../run/count-tokens.ts'
import { Generation, type GenerationDependencies, type GenerationInput } from '../run/generation.ts'
import { runSteps } from '../run/steps.ts'
import { checkGeneration } from './check-generation.ts'

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
      for await (const batch of generation.answer) for (const event of batch) events.push(shown(event, generation))
      return { generation: wholeOf(events) }
    },
    streamGenerate(request, context) {
      let generation: Generation
      const open = async () => {
        generation = await start(request, 'streamed', context)
        return generation.answer
      }
      return new MappedStream(open, (batch) =>
        create(StreamGenerateResponseSchema, { events: batch.map((event) => shown(event, generation)) }),
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
export function shown(
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
