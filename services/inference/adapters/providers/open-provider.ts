import type { Agent } from 'undici'
import type { ProviderConfig } from '#services/inference/config-file.ts'
import type { ProviderEntry } from '#services/inference/domain/model-list.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { AnthropicProvider } from '../anthropic/provider.ts'
import { ApiKey } from '../http/api-key.ts'
import { Upstream } from '../http/upstream.ts'
import { dialectOf, profileOf } from '../openai/dialect.ts'
import { OpenaiProvider } from '../openai/provider.ts'
import { ResponsesProvider } from '../openai-responses/provider.ts'
import { configured } from './configured-provider.ts'
import { providerEntry } from './provider-entry.ts'

const ANTHROPIC_VERSION = '2023-06-01'

/** A configured provider, and what is known about it. */
export interface OpenedProvider {
  readonly provider: ModelProvider
  readonly entry: Omit<ProviderEntry, 'closed'>
}

/** Opens a configured provider, whose connections are made when they are needed. */
export function openProvider(config: ProviderConfig, agent: () => Promise<Agent>, logger: Logger): OpenedProvider {
  return { provider: configured(open(config, agent, logger), config), entry: providerEntry(config) }
}

function open(config: ProviderConfig, agent: () => Promise<Agent>, logger: Logger): ModelProvider {
  const { id, protocol, baseUrl, apiKey, apiKeyFile, headers, keyHeader, query } = config
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const key = apiKey === undefined ? undefined : new ApiKey(apiKey, apiKeyFile, logger)
  const common = { providerId: id, key, query, agent }
  if (protocol === 'anthropic') {
    const upstream = new Upstream({
      ...common,
      baseUrl: baseUrl.replace(/\/v1$/, ''),
      headers: { 'anthropic-version': ANTHROPIC_VERSION, ...lower },
      credentials: (key) => ({ [keyHeader ?? 'x-api-key']: key }),
    })
    return new AnthropicProvider(id, upstream)
  }
  const credentials = (key: string) => (keyHeader ? { [keyHeader]: key } : { authorization: `Bearer ${key}` })
  const upstream = new Upstream({ ...common, baseUrl, headers: lower, credentials })
  if (protocol === 'openai-responses') return new ResponsesProvider(id, dialectOf(id, baseUrl), upstream)
  return new OpenaiProvider(id, profileOf(id, baseUrl, config.reasoningContent), upstream)
}
