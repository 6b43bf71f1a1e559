import { create } from '@bufbuild/protobuf'
import type { ModelInfo, ModelPrice, Provider } from '@pydantic/genai-prices'
import { LRUCache } from 'lru-cache'
import { LongPricingSchema, type Pricing, PricingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import type { ListedModel, PriceList } from '#services/inference/ports/price-list.ts'

/** Callers choose the names of models, so the cache is limited. */
const MOST_NAMES = 1_000
/** Some prices depend on the time of day. */
const TTL_MS = 60_000

/**
 * The prices in `@pydantic/genai-prices`, as of the release of its version. Loading it takes 65 ms, and happens in the
 * first request for a model without a configured price.
 */
export class BundledPrices implements PriceList {
  readonly #addresses: ReadonlyMap<string, string>
  readonly #cache = new LRUCache<string, { readonly listed: ListedModel | undefined }>({ max: MOST_NAMES, ttl: TTL_MS })

  /** Providers are found by their address if the list knows it, otherwise by their id. */
  constructor(providers: readonly { readonly id: string; readonly baseUrl: string }[]) {
    this.#addresses = new Map(providers.map(({ id, baseUrl }) => [id, baseUrl]))
  }

  async find(providerId: string, modelId: string): Promise<ListedModel | undefined> {
    const address = this.#addresses.get(providerId)
    if (address === undefined) return undefined
    const name = `${providerId}/${modelId}`
    const entry = this.#cache.get(name)
    if (entry !== undefined) return entry.listed
    const listed = await look(providerId, address, modelId)
    this.#cache.set(name, { listed })
    return listed
  }
}

async function look(providerId: string, address: string, modelId: string): Promise<ListedModel | undefined> {
  const { calcPrice, findProvider } = await import('@pydantic/genai-prices')
  // It also accepts names that only resemble a provider's.
  const own = (candidate: Provider | undefined) => (candidate?.id === providerId ? candidate : undefined)
  const provider = findProvider({ providerApiUrl: address }) ?? own(findProvider({ providerId }))
  const price = provider && calcPrice({}, modelId, { provider })
  if (!price) return undefined
  return { pricing: pricingOf(price.model_price), contextLength: contextOf(price.model) }
}

function contextOf({ context_window: tokens }: ModelInfo): number | undefined {
  return Number.isSafeInteger(tokens) ? tokens : undefined
}

/** Undefined: it has no price for text. */
function pricingOf(price: ModelPrice): Pricing | undefined {
  const plain = pricesAbove(price, undefined)
  if (plain === undefined) return undefined
  const starts = Object.values(price).flatMap((each) => (typeof each === 'object' ? each.tiers : []))
  const long = [...new Set(starts.map(({ start }) => start))]
    .toSorted((one, other) => other - one)
    .map((start) => create(LongPricingSchema, { aboveTokens: BigInt(start), pricing: pricesAbove(price, start) }))
  return { ...plain, long, listed: true }
}

/** Prices of a request whose input is longer than `start`; undefined: of a short one. */
function pricesAbove(price: ModelPrice, start: number | undefined): Pricing | undefined {
  const nanos = (name: string): bigint | undefined => {
    const each = price[name]
    if (each === undefined) return undefined
    const tiers =
      typeof each === 'object' ? each.tiers.filter((tier) => start !== undefined && tier.start <= start) : []
    const dollars = tiers.at(-1)?.price ?? (typeof each === 'object' ? each.base : each)
    return BigInt(Math.round(dollars * 1e9))
  }
  const inputNanos = nanos('input_mtok')
  const outputNanos = nanos('output_mtok')
  if (inputNanos === undefined || outputNanos === undefined) return undefined
  const webSearches = nanos('web_searches_kcount')
  const fileSearches = nanos('storage_searches_kcount')
  return create(PricingSchema, {
    inputNanos,
    outputNanos,
    cacheReadNanos: nanos('cache_read_mtok') ?? inputNanos,
    cacheWriteNanos: nanos('cache_write_mtok') ?? inputNanos,
    longCacheWriteNanos: nanos('cache_write_1h_mtok'),
    webSearchNanos: webSearches && webSearches / 1_000n,
    fileSearchNanos: fileSearches && fileSearches / 1_000n,
  })
}
