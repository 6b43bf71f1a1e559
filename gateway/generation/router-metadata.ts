import { ConnectError } from '@connectrpc/connect'
import type { AppliedPreset, Warning } from '#gen/portico/inference/v1/inference_pb.js'
import type { Clock } from '#shared/clock.ts'
import { type Reason, reasonOf } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Call } from '../call.ts'
import { providerFailure } from '../errors/provider.ts'
import type { RouterMetadata } from '../records/router-metadata.ts'
import { type GenerationHeaders, type GenerationInit, nameGeneration } from './request.ts'

type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>

/** Whether the answer to a request is to say how it was made. */
function wantsRouterMetadata(headers: HeaderValues): boolean {
  const header = headers['x-openrouter-metadata'] ?? headers['x-openrouter-experimental-metadata']
  return typeof header === 'string' && header.toLowerCase() === 'enabled'
}

/**
 * Begins a request for a generation: gives it its id and, until its body is read, has errors report that no provider
 * was called, if the client wants that.
 */
export function beginGeneration(call: Call, facade: { readonly clock: Clock }, headers: HeaderValues): void {
  nameGeneration(call, facade)
  if (!wantsRouterMetadata(headers)) return
  const describeFailure = (error: unknown): object | undefined => ofFailure('', error, [])
  call.describeFailure = describeFailure
}

/** Who made an answer, and what did not reach the provider as it was meant. */
export interface Served {
  readonly model: string
  readonly providerId: string
  readonly warnings: readonly Warning[]
  readonly preset?: AppliedPreset | undefined
  /** Of the model. */
  readonly endpointCount: number
}

/**
 * Returns the function that describes how the answer was made; undefined: the client does not want that. From here on,
 * errors report how far the request got.
 */
export function describeTo(
  call: Call,
  headers: GenerationHeaders,
  generation: Pick<GenerationInit, 'model' | 'notApplied' | 'routing'>,
): ((served: Served) => RouterMetadata) | undefined {
  if (!wantsRouterMetadata(headers)) return undefined
  const { publicField = (field) => field } = call
  const { model: requested = '', notApplied = [], routing } = generation
  const preferences = routing?.preferences?.map((name) => `routing.${name}`) ?? []
  const without = [...notApplied, ...preferences].map((field) => ({ field, message: 'It was not applied' }))
  const describeFailure = (error: unknown): object | undefined =>
    ofFailure(requested, error, toPipeline(without, publicField))
  call.describeFailure = describeFailure
  return (served) => toRouterMetadata(requested, served, publicField)
}

/** Undefined: it is not known how far the request got. */
function ofFailure(requested: string, error: unknown, pipeline: Pipeline): RouterMetadata | undefined {
  const reason = reasonOf(error)
  if (isUncertain(error, reason)) return undefined
  const failure = reason && providerFailure(reason)
  const common = { requested, strategy: 'direct', region: null, is_byok: false } as const
  if (reason === undefined || failure === undefined) {
    return {
      ...common,
      summary: `no provider was called${nameAll(pipeline)}`,
      attempt: 0,
      endpoints: { total: 0, available: [] },
      pipeline: pipeline.length === 0 ? undefined : pipeline,
    }
  }
  const { provider = '', model = requested, status, endpoints = '1' } = reason.metadata
  return {
    ...common,
    summary: `${provider} failed${nameAll(pipeline)}`,
    attempt: 1,
    endpoints: { total: Number(endpoints), available: [{ provider, model, selected: true }] },
    attempts: [{ provider, model, status: Number(status ?? failure.status) }],
    pipeline: pipeline.length === 0 ? undefined : pipeline,
  }
}

/** Whether the call timed out or broke off, or the service or the whole server has stopped. */
function isUncertain(error: unknown, reason: Reason | undefined): boolean {
  if (error instanceof Rejection) return error.reason === 'NOT_READY'
  return reason === undefined ? error instanceof ConnectError : reason.reason === 'SERVICE_CLOSING'
}

/** Says how an answer was made. `nameOf`: what the client calls a field of a generation. */
function toRouterMetadata(
  requested: string,
  { model, providerId, warnings, preset, endpointCount }: Served,
  nameOf: (field: string) => string,
): RouterMetadata {
  const pipeline = toPipeline(warnings, nameOf)
  return {
    requested,
    strategy: 'direct',
    region: null,
    summary: `served by ${providerId}${nameAll(pipeline)}`,
    attempt: 1,
    is_byok: false,
    endpoints: { total: endpointCount, available: [{ provider: providerId, model, selected: true }] },
    params: preset && { preset: preset.slug, preset_version: preset.version },
    pipeline: pipeline.length === 0 ? undefined : pipeline,
  }
}

type Pipeline = NonNullable<RouterMetadata['pipeline']>

function toPipeline(
  warnings: readonly Pick<Warning, 'field' | 'message'>[],
  nameOf: (field: string) => string,
): Pipeline {
  return warnings.map(({ field, message }) => ({ type: 'not_applied', name: nameOf(field), summary: message }))
}

function nameAll(pipeline: Pipeline): string {
  return pipeline.length === 0 ? '' : `; not applied: ${pipeline.map(({ name }) => name).join(', ')}`
}
