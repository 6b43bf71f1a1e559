import type { Pricing } from './cost.ts'

/** A model with a name of its own. */
export interface ModelEntry {
  /** Model as the provider names it. */
  readonly id: string
  readonly displayName: string
  /** Most tokens of input and output together; undefined: unknown. */
  readonly contextLength: number | undefined
  /** Undefined: unknown. */
  readonly pricing: Pricing | undefined
}

/** A configured provider: it serves the models listed here, and passes others through where it is not `closed`. */
export interface ProviderEntry {
  readonly id: string
  readonly protocol: 'openai' | 'openai-responses' | 'anthropic' | 'echo'
  /** Serves nothing but what is listed. */
  readonly closed: boolean
  readonly models: readonly ModelEntry[]
}

/** Where a model is served, and at what price. */
export interface Endpoint {
  readonly providerId: string
  /** Model as the provider names it. */
  readonly modelId: string
  /** Undefined: unknown. */
  readonly pricing: Pricing | undefined
  /** Most tokens of input and output together; undefined: unknown. */
  readonly contextLength?: number | undefined
  /** Most tokens of output; undefined: unknown. */
  readonly outputLimit?: number | undefined
}

/** A model that can be asked. */
export interface ResolvedModel {
  /** In order of preference; the first one is asked. */
  readonly endpoints: readonly [Endpoint, ...Endpoint[]]
}

/**
 * Finds the model that a name means: `provider/model`, split at the first `/`, which that provider alone serves; else the id of a
 * listed model, which every provider serves that lists it, in order of configuration. Undefined: there is none.
 */
export function resolveModel(providers: readonly ProviderEntry[], name: string): ResolvedModel | undefined {
  const slash = name.indexOf('/')
  if (slash > 0) {
    const provider = providers.find(({ id }) => id === name.slice(0, slash))
    const modelId = name.slice(slash + 1)
    if (provider !== undefined && modelId !== '') {
      const model = provider.models.find(({ id }) => id === modelId)
      if (model === undefined && provider.closed) return undefined
      return { endpoints: [{ providerId: provider.id, modelId, pricing: model?.pricing }] }
    }
  }
  const [first, ...others] = providers.flatMap((provider) => {
    const model = provider.models.find(({ id }) => id === name)
    return model === undefined ? [] : [{ providerId: provider.id, modelId: name, pricing: model.pricing }]
  })
  return first === undefined ? undefined : { endpoints: [first, ...others] }
}

/** The built-in provider, which is always there and free. */
export const echoEntry: ProviderEntry = {
  id: 'portico',
  protocol: 'echo',
  closed: true,
  models: [
    {
      id: 'echo',
      displayName: 'Echo (built in)',
      contextLength: 1_000_000,
      pricing: { inputNanos: 0n, outputNanos: 0n, cacheReadNanos: 0n, cacheWriteNanos: 0n },
    },
  ],
}

/** What can be asked for: the configured providers, which pass on models that are not listed, and the built-in one. */
export function modelListOf(
  providers: readonly Pick<ProviderEntry, 'id' | 'protocol' | 'models'>[],
): readonly ProviderEntry[] {
  return [...providers.map(({ id, protocol, models }) => ({ id, protocol, models, closed: false })), echoEntry]
}
