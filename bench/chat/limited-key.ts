import { MANAGEMENT_KEY } from '../cases.ts'
import type { LoadClient } from '../harness/load.ts'

/** As high as possible: every limit is counted, and none is reached. */
const TERMS = {
  limit: 1e9,
  requests_per_minute: 2 ** 31 - 1,
  tokens_per_minute: 1e12,
  concurrent_requests: 2 ** 31 - 1,
}

/** Creates a key for inference with limits of every kind. */
export async function limitedKey(client: LoadClient): Promise<string> {
  const { status, text } = await client.send({
    method: 'POST',
    path: '/api/v1/keys',
    headers: { authorization: `Bearer ${MANAGEMENT_KEY}` },
    body: JSON.stringify({ name: 'of the bench', ...TERMS }),
  })
  if (status !== 201) throw new Error(`A key was not made: ${status} ${text}`)
  return (JSON.parse(text) as { readonly key: string }).key
}
