import type { Pricing } from './cost.ts'

/** A model with a name of its own. */
export interface ModelEntry {
  /** Model as the provider names it. */
  readonly id: string
  readonly displayName: string
  /** Most tokens of input and output together; 0: unknown. */
  readonly contextLength: number
  /** Undefined: unknown. */
  readonly pricing: Pricing | undefined
}

/** A configured provider: it serves the models listed here, and passes others through where it is not `closed`. */
export interface ProviderEntry {
  readonly id: string
  readonly protocol: 'openai' | 'anthropic' | 'echo'
  /** Serves nothing but what is listed. */
  readonly closed: boolean
  readonly models: readonly ModelEntry[]
}

/** Which provider serves which of its models, at what price. */
export interface ModelRoute {
  readonly providerId: string
  readonly modelId: string
  readonly pricing: Pricing | undefined
}

/**
 * Finds the model that a name means: `provider/model`, split at the first `/`; else the id of a listed model, the first
 * one in order of configuration. Undefined: there is none.
 */
export function resolveModel(providers: readonly ProviderEntry[], name: string): ModelRoute | undefined {
  const slash = name.indexOf('/')
  if (slash > 0) {
    const provider = providers.find(({ id }) => id === name.slice(0, slash))
    const modelId = name.slice(slash + 1)
    if (provider !== undefined && modelId !== '') {
      const model = provider.models.find(({ id }) => id === modelId)
      if (model === undefined && provider.closed) return undefined
      return { providerId: provider.id, modelId, pricing: model?.pricing }
    }
  }
  for (const provider of providers) {
    const model = provider.models.find(({ id }) => id === name)
    if (model !== undefined) return { providerId: provider.id, modelId: model.id, pricing: model.pricing }
  }
  return undefined
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
