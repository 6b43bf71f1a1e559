import type { BenchRequest, LoadClient } from './harness/load.ts'

/** Something that both Portico and its reference are requested to do. */
export interface BenchCase {
  readonly name: string
  readonly reference: 'sessions' | 'gateway'
  /** Number of requests per round, by concurrency. */
  readonly rounds: Readonly<Record<number, number>>
  /** What CPU time is divided by: requests, or chunks of their streams. */
  readonly per: { readonly unit: 'request' | 'chunk'; readonly count: number }
  /** Portico's maximum: a multiple of the reference, or microseconds. */
  readonly goal?: { readonly ratio: number } | { readonly microseconds: number }
  /** Creates what the requests need, and returns a function that makes requests. */
  prepare(client: LoadClient, directory: string): Promise<() => BenchRequest>
}

/** The keys that Portico is started with. */
export const API_KEY = 'sk-portico-key-of-the-benchmarks'
export const MANAGEMENT_KEY = 'mk-portico-key-of-the-benchmarks'

const perRequest = { unit: 'request', count: 1 } as const
const goal = { ratio: 1.3 }

export const CASES: readonly BenchCase[] = [
  {
    name: 'session get',
    reference: 'sessions',
    rounds: { 1: 1_000, 16: 4_000 },
    per: perRequest,
    goal,
    async prepare(client, directory) {
      const ids = await createSessions(client, directory, 1_000)
      return roundRobin(ids, (id) => ({ method: 'GET', path: `/api/session/${id}` }))
    },
  },
  {
    name: 'session list',
    reference: 'sessions',
    rounds: { 1: 200, 16: 800 },
    per: perRequest,
    goal: { ratio: 1.5 },
    async prepare(client, directory) {
      await createSessions(client, directory, 1_000)
      return () => ({ method: 'GET', path: '/api/session?limit=50' })
    },
  },
  {
    name: 'session create',
    reference: 'sessions',
    rounds: { 1: 500, 16: 4_000 },
    per: perRequest,
    goal,
    async prepare(_, directory) {
      return () => createRequest(directory)
    },
  },
  {
    name: 'prompt admission',
    reference: 'sessions',
    rounds: { 1: 500, 16: 4_000 },
    per: perRequest,
    goal,
    async prepare(client, directory) {
      const ids = await createSessions(client, directory, 100)
      const body = JSON.stringify({ text: 'Read the README and say what this project is.', resume: false })
      return roundRobin(ids, (id) => ({ method: 'POST', path: `/api/session/${id}/prompt`, body }))
    },
  },
  {
    name: 'responses JSON',
    reference: 'gateway',
    rounds: { 1: 500, 16: 2_000 },
    per: perRequest,
    prepare: async () => () => responsesRequest({ input: 'Say something.' }),
  },
  {
    name: 'responses JSON of 20 KB',
    reference: 'gateway',
    rounds: { 16: 400 },
    per: perRequest,
    prepare: async () => () => responsesRequest({ input: 'Say 4000 words.' }),
  },
  {
    name: 'responses stream',
    reference: 'gateway',
    rounds: { 1: 40, 16: 160 },
    per: { unit: 'chunk', count: 200 },
    goal: { microseconds: 9 },
    prepare: async () => () => responsesRequest({ input: 'Say something.', stream: true }),
  },
]

/** A request to the gateway that both servers accept. */
export function responsesRequest(body: object): BenchRequest {
  const headers = { authorization: `Bearer ${API_KEY}` }
  const model = 'openai/gpt-bench'
  return { method: 'POST', path: '/api/v1/responses', headers, body: JSON.stringify({ model, ...body }) }
}

function createRequest(directory: string): BenchRequest {
  const body = JSON.stringify({ title: 'A session of the benchmarks', location: { directory } })
  return { method: 'POST', path: '/api/session', body }
}

async function createSessions(client: LoadClient, directory: string, count: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count) {
    const { status, text } = await client.send(createRequest(directory))
    if (status !== 200) throw new Error(`A session was not made: ${status} ${text}`)
    ids.push((JSON.parse(text) as { data: { id: string } }).data.id)
  }
  return ids
}

function roundRobin<T>(items: readonly T[], make: (item: T) => BenchRequest): () => BenchRequest {
  let turn = 0
  return () => make(items[turn++ % items.length] as T)
}
