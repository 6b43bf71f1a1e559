import type { ProviderConfig } from '#services/inference/config-file.ts'
import type { ProviderEntry } from '#services/inference/domain/model-list.ts'
import { ANTHROPIC_WITHOUT } from '../anthropic/warnings.ts'
import { dialectOf } from '../openai/dialect.ts'
import { CHAT_WITHOUT } from '../openai/warnings.ts'
import { RESPONSES_WITHOUT } from '../openai-responses/request.ts'

/** What is known about a configured provider by its protocol and address. */
export function providerEntry(provider: ProviderConfig): Omit<ProviderEntry, 'closed'> {
  const { id, protocol, baseUrl, policy, models } = provider
  const dialect = dialectOf(id, baseUrl)
  const without = { anthropic: ANTHROPIC_WITHOUT, openai: CHAT_WITHOUT[dialect], 'openai-responses': RESPONSES_WITHOUT }
  return { id, protocol, without: without[protocol], knowsVariants: dialect === 'openrouter', policy, models }
}
