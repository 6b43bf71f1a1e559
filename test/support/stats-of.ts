import assert from 'node:assert/strict'
import type { InstanceClient } from './instance-client.ts'

interface Step {
  readonly type: string
  readonly model: object
  readonly cost?: number
  readonly tokens?: {
    readonly input: number
    readonly output: number
    readonly reasoning: number
    readonly cache: { readonly read: number; readonly write: number }
  }
  readonly time: { readonly created: number; readonly completed?: number }
  readonly content: readonly { readonly type: string; readonly state?: { readonly status: string } }[]
}

/** Checks the statistics against the transcripts of all sessions; nothing runs meanwhile. */
export async function statsAgree(client: InstanceClient): Promise<void> {
  const { data: sessions } = (await client.get('/api/session?limit=1000')) as {
    data: { id: string; parentID?: string }[]
  }
  const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
  const totals = { calls: 0, succeeded: 0, failed: 0, unfinished: 0 }
  const expected = { sessions: 0, subagents: 0, prompts: 0, steps: 0, tokens, totals }
  let first = Number.POSITIVE_INFINITY
  for (const { id, parentID } of sessions) {
    const messages = (await client.messages(id)) as unknown as Step[]
    const counted = messages.filter(({ type }) => type === 'user' || type === 'assistant')
    if (counted.length === 0) continue
    first = Math.min(first, ...counted.map(({ time }) => time.created))
    expected[parentID === undefined ? 'sessions' : 'subagents'] += 1
    if (parentID === undefined) expected.prompts += counted.filter(({ type }) => type === 'user').length
    for (const step of counted.filter(({ type }) => type === 'assistant')) {
      expected.steps += 1
      for (const name of ['input', 'output', 'reasoning'] as const) tokens[name] += step.tokens?.[name] ?? 0
      for (const name of ['read', 'write'] as const) tokens.cache[name] += step.tokens?.cache[name] ?? 0
      for (const { state } of step.content.filter(({ type }) => type === 'tool')) {
        totals.calls += 1
        totals[state?.status === 'completed' ? 'succeeded' : 'failed'] += 1
      }
    }
  }
  const { data } = (await client.get('/api/experimental/session/stats')) as { data: Record<string, unknown> }
  const { tools, range, ...found } = data as { tools: { totals: object }; range: { from: number } }
  const same = Object.fromEntries(Object.keys(expected).map((name) => [name, (found as Record<string, unknown>)[name]]))
  assert.deepEqual({ ...same, totals: tools.totals }, expected)
  assert.equal(range.from, first)
}
