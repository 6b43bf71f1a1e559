import type { Agent } from 'undici'
import type { ProviderConfig } from '#services/inference/config-file.ts'
import type { ProviderEntry } from '#services/inference/domain/model-list.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { AnthropicProvider } from '../anthropic/provider.ts'
import { ANTHROPIC_WITHOUT } from '../anthropic/warnings.ts'
import { ApiKey } from '../http/api-key.ts'
import { Upstream } from '../http/upstream.ts'
import { dialectOf, profileOf } from '../openai/dialect.ts'
import { OpenaiProvider } from '../openai/provider.ts'
import { CHAT_WITHOUT } from '../openai/request.ts'
import { ResponsesProvider } from '../openai-responses/provider.ts'
import { RESPONSES_WITHOUT } from '../openai-responses/request.ts'
import { configured } from './configured-provider.ts'

const ANTHROPIC_VERSION = '2023-06-01'

/** What is known about a configured provider by its protocol and address. */
export function entryOf({ id, protocol, baseUrl, policy, models }: ProviderConfig): Omit<ProviderEntry, 'closed'> {
  const dialect = dialectOf(id, baseUrl)
  const without = { anthropic: ANTHROPIC_WITHOUT, openai: CHAT_WITHOUT[dialect], 'openai-responses': RESPONSES_WITHOUT }
  return { id, protocol, without: without[protocol], knowsVariants: dialect === 'openrouter', policy, models }
}

/** Opens a configured provider, whose connections are made when they are needed. */
export function openProvider(config: ProviderConfig, agent: Agent, logger: Logger): ModelProvider {
  return configured(open(config, agent, logger), config)
}

function open(config: ProviderConfig, agent: Agent, logger: Logger): ModelProvider {
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
