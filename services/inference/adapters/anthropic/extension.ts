import type { ProviderExtension } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'

/** The format of opaque data of this API, which other kinds of providers do not understand. */
export const ANTHROPIC = 'anthropic-claude-v1'

/** The members of a request that are for this API alone, in its own words. */
export function extensionOf({ extensions }: ProviderRequest): ProviderExtension | undefined {
  return extensions.find(({ format }) => format === ANTHROPIC)
}

const FAST_BETA = 'fast-mode-2026-02-01'

/** The headers of a request: the caller's, and the betas that it names or needs. */
export function headersOf(request: ProviderRequest): Readonly<Record<string, string>> {
  const headers = { ...request.providerHeaders, ...extensionOf(request)?.headers }
  if (request.speed !== 'fast') return headers
  const betas = headers['anthropic-beta'] ?? ''
  if (betas.includes('fast-mode-')) return headers
  return { ...headers, 'anthropic-beta': betas === '' ? FAST_BETA : `${betas},${FAST_BETA}` }
}
