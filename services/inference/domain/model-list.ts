import { create } from '@bufbuild/protobuf'
import { type Model, PricingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { type DataPolicy, type Endpoint, UNKNOWN_POLICY } from './endpoint.ts'
import type { Setting } from './left-out.ts'

export interface ModelEntry
  extends Pick<Model, 'displayName' | 'contextLength' | 'pricing' | 'outputLimit' | 'description'> {
  /** The provider's name for the model. */
  readonly id: string
  /** `text`, `image`, `file`, `audio`, `video`; undefined: what its provider's protocol supports. */
  readonly inputModalities?: readonly string[] | undefined
  /** Undefined: text. */
  readonly outputModalities?: readonly string[] | undefined
  /** Undefined: that of its provider. */
  readonly policy?: Partial<DataPolicy> | undefined
}

/** A configured provider: it serves the models listed here and, unless it is `closed`, any other model. */
export interface ProviderEntry {
  readonly id: string
  readonly protocol: 'openai' | 'openai-responses' | 'anthropic' | 'echo'
  /** Serves only the listed models. */
  readonly closed: boolean
  /** Settings for which it has no member. */
  readonly without?: readonly Setting[] | undefined
  /** Whether it knows the name endings that choose a variant (`:free`). */
  readonly knowsVariants?: boolean | undefined
  /** Undefined members are unknown. */
  readonly policy?: Partial<DataPolicy> | undefined
  readonly models: readonly ModelEntry[]
}

export interface ResolvedModel {
  /** In order of preference. */
  readonly endpoints: readonly [Endpoint, ...Endpoint[]]
  /** The ending of the name that chooses a variant (`nitro`), which no provider is sent; undefined: none. */
  readonly variant?: string
}

/** Endings that choose a variant of a model. */
const VARIANT = /^(.+):(free|nitro|floor|online|thinking|extended|exacto)$/

/**
 * Finds the model for a name: either `provider/model`, split at the first `/`, which only that provider serves; or the
 * id of a listed model, which is served by every provider that lists it, in order of configuration. An ending that
 * chooses a variant is removed, unless it belongs to the name of a listed model, or the provider knows variants.
 * Undefined: there is none.
 */
export function resolveModel(providers: readonly ProviderEntry[], name: string): ResolvedModel | undefined {
  const [, base, variant] = VARIANT.exec(name) ?? []
  const listed = findListed(providers, name)
  if (listed !== undefined || base === undefined) return listed ?? findUnlisted(providers, name)
  const unlisted = findUnlisted(providers, name)
  if (unlisted !== undefined && providers.find(({ id }) => id === unlisted.endpoints[0].providerId)?.knowsVariants) {
    return unlisted
  }
  const model = findListed(providers, base) ?? findUnlisted(providers, base)
  return model === undefined || variant === undefined ? model : { ...model, variant }
}

function findListed(providers: readonly ProviderEntry[], name: string): ResolvedModel | undefined {
  const slash = name.indexOf('/')
  const own = slash > 0 ? providers.find(({ id }) => id === name.slice(0, slash)) : undefined
  const model = own?.models.find(({ id }) => id === name.slice(slash + 1))
  if (own !== undefined && model !== undefined) return { endpoints: [endpointOf(own, model)] }
  const [first, ...others] = providers.flatMap((provider) => {
    const each = provider.models.find(({ id }) => id === name)
    return each === undefined ? [] : [endpointOf(provider, each)]
  })
  return first === undefined ? undefined : { endpoints: [first, ...others] }
}

function findUnlisted(providers: readonly ProviderEntry[], name: string): ResolvedModel | undefined {
  const slash = name.indexOf('/')
  const provider = slash > 0 ? providers.find(({ id }) => id === name.slice(0, slash)) : undefined
  const modelId = name.slice(slash + 1)
  if (provider === undefined || provider.closed || modelId === '') return undefined
  return { endpoints: [endpointOf(provider, { id: modelId })] }
}

export function endpointOf(provider: ProviderEntry, model: Omit<ModelEntry, 'displayName'>): Endpoint {
  const { pricing, contextLength, outputLimit } = model
  const isSaid = provider.policy !== undefined || model.policy !== undefined
  const policy = isSaid ? { ...UNKNOWN_POLICY, ...provider.policy, ...model.policy } : UNKNOWN_POLICY
  const providerId = provider.id
  const modelId = model.id
  const { without } = provider
  return { providerId, modelId, pricing, contextLength, outputLimit, policy, without }
}

/**
 * Whether a model is among those that patterns name: `*` matches any text; a pattern without `/` means any provider's.
 */
export function isAllowed(
  patterns: readonly string[],
  { providerId, modelId }: Pick<Endpoint, 'providerId' | 'modelId'>,
): boolean {
  if (patterns.length === 0) return true
  return patterns.some((pattern) => matches(pattern, pattern.includes('/') ? `${providerId}/${modelId}` : modelId))
}

/** Goes back at most once for each star, so that no pattern takes long. */
function matches(pattern: string, text: string): boolean {
  let at = 0
  let from = 0
  let star = -1
  let taken = 0
  while (at < text.length) {
    if (pattern[from] === '*') {
      star = from
      taken = at
      from += 1
    } else if (pattern[from] === text[at]) {
      from += 1
      at += 1
    } else {
      if (star < 0) return false
      from = star + 1
      taken += 1
      at = taken
    }
  }
  while (pattern[from] === '*') from += 1
  return from === pattern.length
}

const FREE = create(PricingSchema)

/** The built-in provider, which is always there, and free. */
export const echoEntry: ProviderEntry = {
  id: 'portico',
  protocol: 'echo',
  closed: true,
  policy: { collects: false, retainsNothing: true, distillable: true, quantization: 'unknown' },
  models: [
    { id: 'echo', displayName: 'Echo (built in)', contextLength: 1_000_000, pricing: FREE },
    { id: 'echo-small', displayName: 'Echo with a small context (built in)', contextLength: 2_000, pricing: FREE },
  ],
}

/**
 * The models that can be requested: those of the configured providers, which also serve models that are not listed, and
 * of the built-in one.
 */
export function modelListOf(providers: readonly Omit<ProviderEntry, 'closed'>[]): readonly ProviderEntry[] {
  return [...providers.map((provider) => ({ ...provider, closed: false })), echoEntry]
}
