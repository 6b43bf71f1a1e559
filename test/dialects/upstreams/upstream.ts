import type { Json } from '#test/support/responses.ts'

/** What every scripted provider says, each in its own wire form: a thought, a text that rests on a source, two calls at once. */
export const SAID = {
  thought: 'Let me see.',
  text: 'Leases end.',
  source: 'https://example.com/lease',
  calls: [
    { id: 'call_A', name: 'list', arguments: '{"path":"."}' },
    { id: 'call_B', name: 'read', arguments: '{"path":"a.md"}' },
  ],
  /** Cached ones included. */
  inputTokens: 20,
  outputTokens: 9,
} as const

/** What a provider was sent, as far as the table looks. */
export interface Reached {
  readonly system: boolean
  readonly images: number
  readonly files: number
  readonly results: readonly string[]
  readonly tools: readonly string[]
  readonly schema: boolean
  readonly stop: readonly string[]
  readonly maxTokens: unknown
}

/** A scripted provider: what it answers, and what it understood. */
export interface Upstream {
  readonly protocol: 'openai' | 'openai-responses' | 'anthropic'
  /** The path of its requests. */
  readonly path: string
  /** What proves its thought; it has to come back to it, and to nobody else. */
  readonly proof: string | undefined
  readonly whole: Json
  readonly events: readonly (Json | string)[]
  reached(body: Json): Reached
  /** An answer that ends before its time, whole. */
  ended(why: Ending): Json
  /** The same as a stream. */
  ending(why: Ending): readonly (Json | string)[]
}

/** Why an answer ends before its time. */
export type Ending = 'length' | 'filter'

/** How often the pattern matches the value as JSON. */
export function countOf(value: unknown, pattern: RegExp): number {
  return [...JSON.stringify(value).matchAll(pattern)].length
}
