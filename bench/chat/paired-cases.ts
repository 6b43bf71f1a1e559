import type { BenchCase } from '../cases.ts'
import type { BenchRequest, LoadClient } from '../harness/load.ts'
import { limitedKey } from './limited-key.ts'

/** The chat completions of `bench/chat.ts`, for comparing two work trees. */
export const CHAT_CASES: readonly BenchCase[] = [
  {
    name: 'chat JSON',
    reference: 'gateway',
    rounds: { 1: 500, 16: 2_000 },
    per: { unit: 'request', count: 1 },
    prepare: (client) => chatRequests(client, 'Say something.', false),
  },
  {
    name: 'chat stream with a chunk each 10 ms',
    reference: 'gateway',
    rounds: { 100: 100 },
    per: { unit: 'chunk', count: 200 },
    prepare: (client) => chatRequests(client, 'Say 200 words each 10 ms.', true),
  },
]

async function chatRequests(client: LoadClient, content: string, stream: boolean): Promise<() => BenchRequest> {
  const headers = { authorization: `Bearer ${await limitedKey(client)}` }
  const body = JSON.stringify({ model: 'openai/gpt-bench', stream, messages: [{ role: 'user', content }] })
  return () => ({ method: 'POST', path: '/api/v1/chat/completions', headers, body })
}
