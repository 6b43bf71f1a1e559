import type { AppliedPreset, Warning } from '#gen/portico/inference/v1/inference_pb.js'
import { reasonOf } from '#shared/rejection.ts'
import type { Call } from '../call.ts'
import { providerFailure } from '../errors/provider.ts'
import type { RouterMetadata } from '../records/router-metadata.ts'
import type { GenerationHeaders } from './call.ts'

/** Whether a request asks how its answer was made. */
function wantsRouterMetadata(headers: GenerationHeaders): boolean {
  const said = headers['x-openrouter-metadata'] ?? headers['x-openrouter-experimental-metadata']
  return said?.toLowerCase() === 'enabled'
}

/** Who made an answer, and what did not reach them. */
export interface Served {
  readonly model: string
  readonly providerId: string
  readonly warnings: readonly Warning[]
  readonly preset?: AppliedPreset | undefined
}

/**
 * What says how the answer of a request was made; undefined: its client does not ask. From here on its errors say how far it came.
 * `requested`: the model as it was asked for.
 */
export function describeTo(
  call: Call,
  headers: GenerationHeaders,
  requested: string,
): ((served: Served) => RouterMetadata) | undefined {
  if (!wantsRouterMetadata(headers)) return undefined
  const describeFailure = (error: unknown): object => ofFailure(requested, error)
  call.describeFailure = describeFailure
  const { publicField = (field) => field } = call
  return (served) => toRouterMetadata(requested, served, publicField)
}

function ofFailure(requested: string, error: unknown): RouterMetadata {
  const reason = reasonOf(error)
  const failure = reason && providerFailure(reason)
  const common = { requested, strategy: 'direct', region: null, is_byok: false } as const
  if (reason === undefined || failure === undefined) {
    return { ...common, summary: 'no provider was asked', attempt: 0, endpoints: { total: 0, available: [] } }
  }
  const { provider = '', model = requested, status } = reason.metadata
  return {
    ...common,
    summary: `${provider} failed`,
    attempt: 1,
    endpoints: { total: 1, available: [{ provider, model, selected: true }] },
    attempts: [{ provider, model, status: Number(status ?? failure.status) }],
  }
}

/** Says how an answer was made. `nameOf`: what the client calls a field of a generation. */
function toRouterMetadata(
  requested: string,
  { model, providerId, warnings, preset }: Served,
  nameOf: (field: string) => string,
): RouterMetadata {
  const pipeline = warnings.map(({ field, message }) => {
    return { type: 'not_applied' as const, name: nameOf(field), summary: message }
  })
  const without = pipeline.length === 0 ? '' : `; not applied: ${pipeline.map(({ name }) => name).join(', ')}`
  return {
    requested,
    strategy: 'direct',
    region: null,
    summary: `served by ${providerId}${without}`,
    attempt: 1,
    is_byok: false,
    endpoints: { total: 1, available: [{ provider: providerId, model, selected: true }] },
    ...(preset === undefined ? {} : { params: { preset: preset.slug, preset_version: preset.version } }),
    ...(pipeline.length === 0 ? {} : { pipeline }),
  }
}
