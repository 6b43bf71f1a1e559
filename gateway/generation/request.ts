import type { MessageInitShape } from '@bufbuild/protobuf'
import { z } from 'zod'
import {
  AttributionSchema,
  type GenerationRequest,
  GenerationRequestSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { Clock } from '#shared/clock.ts'
import { timedText } from '#shared/ids.ts'
import { limitOf } from '#shared/rpc/field-limits.ts'
import type { Call } from '../call.ts'
import { limitedBy } from '../shape.ts'

const flag = (description: string) => z.enum(['true', 'false']).optional().meta({ description })

/**
 * Headers by which a request wants the cached answer to an equal one. Portico caches no answers: the headers are
 * checked, and reported as not applied.
 */
const cacheHeaders = {
  'x-openrouter-cache': flag('Reported as not applied: answers are not cached'),
  'x-openrouter-cache-ttl': z
    .string()
    .regex(/^\d{1,9}$/, 'must be a number of seconds')
    .optional()
    .meta({ description: 'How long an answer may be cached, in seconds' }),
  'x-openrouter-cache-clear': flag('Reported as not applied: answers are not cached'),
}

/** The same, as a preset says it. */
export const cacheSettings = {
  cache_enabled: z
    .boolean()
    .nullish()
    .meta({ description: 'Stored, and reported as not applied: answers are not cached' }),
  cache_ttl_seconds: z.int().min(1).max(86_400).nullish(),
}

const ASKING = ['x-openrouter-cache', 'x-openrouter-cache-clear'] as const

/** The names of those headers of a request that want caching. */
export function cacheNotApplied(
  headers: {
    readonly [name in (typeof ASKING)[number]]?: string | undefined
  },
): readonly string[] {
  return ASKING.filter((name) => headers[name] === 'true')
}

export type GenerationInit = Exclude<MessageInitShape<typeof GenerationRequestSchema>, GenerationRequest>
type Attribution = MessageInitShape<typeof AttributionSchema>

const optional = (description: string) => z.string().optional().meta({ description })

/** Headers that every operation which generates looks at. */
export const generationHeaders = {
  'x-session-id': limitedBy(GenerationRequestSchema.field.sessionId, z.string())
    .optional()
    .meta({ description: 'Groups the requests of one conversation; the member session_id takes precedence' }),
  'x-openrouter-metadata': optional('`enabled`: the answer describes how it was made, in `openrouter_metadata`'),
  'x-openrouter-experimental-metadata': optional('An older name of X-OpenRouter-Metadata'),
  ...cacheHeaders,
  'http-referer': optional('Address of the application'),
  'x-openrouter-title': optional('Name of the application'),
  'x-title': optional('An older name of X-OpenRouter-Title'),
  'x-openrouter-categories': optional('Category of the application'),
  'user-agent': optional('Stored with the request'),
}

/** Those headers, as they were given. */
export type GenerationHeaders = { readonly [name in keyof typeof generationHeaders]?: string | undefined }

/** What the inference service rejects generations with. */
export const GENERATION_REASONS = [
  'MODEL_NOT_FOUND',
  'MODEL_FORBIDDEN',
  'NO_ENDPOINT',
  'PRESET_NOT_FOUND',
  'REQUEST_INVALID',
  'REQUEST_DUPLICATE',
  'CREDIT_INSUFFICIENT',
  'PRICE_UNKNOWN',
  'RATE_LIMITED',
  'PROVIDER_REFUSED',
  'PROVIDER_RATE_LIMITED',
  'PROVIDER_UNAVAILABLE',
  'PROVIDER_TIMEOUT',
] as const

/** The request message for a generation, with the terms of the caller's key, so that the key is not read again. */
export function withTerms(generation: GenerationInit, { terms }: Pick<Call, 'terms'>) {
  return terms === undefined ? { generation } : { generation, terms }
}

/** The ids of a generation; all ids of an answer contain the same text. */
export interface GenerationIds {
  /** 24 letters and digits. */
  readonly text: string
  /** `gen-…`, its id in the ledger. */
  readonly requestId: string
}

const PREFIX = 'gen-'

/** Gives the request for a generation its id. Every response has it in `X-Generation-Id`, errors included. */
export function nameGeneration(call: Call, { clock }: { readonly clock: Clock }): void {
  const requestId = PREFIX + timedText(24, clock)
  call.generationId = requestId
  call.headers.push('x-generation-id', requestId)
  // Where Anthropic's clients look for it.
  if (call.family === 'messages') call.headers.push('request-id', requestId)
}

/** The ids of the generation of a request; its operation `generates`. */
export function generationOf({ generationId }: Call): GenerationIds {
  if (generationId === undefined) throw new Error('The operation does not generate')
  return { text: generationId.slice(PREFIX.length), requestId: generationId }
}

const { referer, title, categories, userAgent } = AttributionSchema.field
const MOST = {
  referer: limitOf(referer).most,
  title: limitOf(title).most,
  categories: limitOf(categories).most,
  userAgent: limitOf(userAgent).most,
}

/** The calling application, for the ledger. Values that are too long are cut; that is no reason to refuse a request. */
function attributionOf(headers: GenerationHeaders): Attribution | undefined {
  const attribution = {
    referer: short(headers['http-referer'], MOST.referer),
    title: short(headers['x-openrouter-title'] ?? headers['x-title'], MOST.title),
    categories: short(headers['x-openrouter-categories'], MOST.categories),
    userAgent: short(headers['user-agent'], MOST.userAgent),
  }
  return Object.values(attribution).some((value) => value !== undefined) ? attribution : undefined
}

function short(value: string | undefined, most: number): string | undefined {
  return value ? value.slice(0, most).toWellFormed() : undefined
}

/** The members of a body that say who sends it, and in which session. */
export interface Sender {
  readonly user?: string | null | undefined
  readonly session_id?: string | null | undefined
  readonly prompt_cache_key?: string | null | undefined
}

interface Identity extends Sender {
  readonly metadata?: Readonly<Record<string, string>> | null | undefined
  readonly trace?: Readonly<Record<string, unknown>> | null | undefined
}

/**
 * Who sends the request, and the session it belongs to. The members that keep requests on one upstream are tried in
 * order of preference.
 */
export function toIdentity(body: Identity, headers: GenerationHeaders): Partial<GenerationInit> {
  return {
    user: body.user || undefined,
    sessionId: (body.session_id ?? (headers['x-session-id'] || body.prompt_cache_key)) || undefined,
    metadata: body.metadata ?? undefined,
    trace: (body.trace ?? undefined) as GenerationInit['trace'],
    attribution: attributionOf(headers),
  }
}
