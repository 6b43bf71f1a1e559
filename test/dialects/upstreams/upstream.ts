import type { Json } from '#test/support/responses.ts'

/**
 * What every scripted provider says in its own wire format: a thought, a text that cites a source, two parallel calls.
 */
export const SAID = {
  thought: 'Let me see.',
  text: 'Leases end.',
  source: 'https://example.com/lease',
  calls: [
    { id: 'call_A', name: 'list', arguments: '{"path":"."}' },
    { id: 'call_B', name: 'read', arguments: '{"path":"a.md"}' },
  ],
  /** Including cached ones. */
  inputTokens: 20,
  outputTokens: 9,
} as const

/** What a provider was sent, as far as the table checks it. */
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
  /** The proof of its thought: it must be sent back to this provider, and to no other. */
  readonly proof: string | undefined
  readonly whole: Json
  readonly events: readonly (Json | string)[]
  reached(body: Json): Reached
  /** A whole answer that ends early. */
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
