import Anthropic from '@anthropic-ai/sdk'
import { OpenRouter } from '@openrouter/sdk'
import OpenAI from 'openai'
import { PORTICO_KEYS } from '#test/support/portico.ts'

// The vendors' own clients of a server that a test has started, by default with the workspace key. None repeats a
// request.

type Server = { readonly url: string }

export function openAiClient({ url }: Server, apiKey = PORTICO_KEYS.api): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${url}/api/v1`, maxRetries: 0 })
}

export function anthropicClient({ url }: Server, apiKey = PORTICO_KEYS.api): Anthropic {
  return new Anthropic({ apiKey, authToken: null, baseURL: `${url}/api`, maxRetries: 0 })
}

export function openRouterClient({ url }: Server, apiKey = PORTICO_KEYS.api): OpenRouter {
  return new OpenRouter({ apiKey, serverURL: `${url}/api/v1`, retryConfig: { strategy: 'none' } })
}
