import assert from 'node:assert/strict'
import type { InstanceClient, WireMessage } from '#test/support/instance-client.ts'
import type { Accepted } from './kill-work.ts'

/** Every accepted prompt is exactly one user message, with its file; and every accepted compaction is one message. */
export function assertKept(messages: readonly WireMessage[], { prompts, compactions }: Accepted): void {
  const users = messages.filter(({ type }) => type === 'user')
  const byId = new Map(users.map((message) => [message.id, message]))
  assert.equal(byId.size, users.length, 'a prompt became two messages')
  const lost = [...prompts].filter(([id]) => !byId.has(id))
  assert.deepEqual(lost, [], 'accepted prompts are missing')
  for (const [id, file] of prompts) {
    const files = byId.get(id)?.files?.map(({ data }) => Buffer.from(data ?? '', 'base64').toString())
    assert.deepEqual(files, file ? [id] : undefined, `${id} does not have the files that it was accepted with`)
  }
  for (const id of compactions) {
    const made = messages.filter((message) => message.id === id)
    assert.deepEqual([made.length, made[0]?.type], [1, 'compaction'], `${id} was asked for`)
  }
}

/** Every step, call and run has ended. Returns how many calls were cut off. */
export function assertEnded(conversations: readonly (readonly WireMessage[])[]): number {
  let aborted = 0
  for (const messages of conversations) assert.equal(messages.at(-1)?.type ?? 'idle', 'idle', 'a run never ended')
  for (const { id, type, time, content = [] } of conversations.flat()) {
    if (type !== 'assistant') continue
    assert.ok(time.completed !== undefined, `step ${id} never ended`)
    for (const { state } of content) {
      if (state === undefined) continue
      assert.match(state.status, /^(completed|error)$/, `a tool call of ${id} never ended`)
      if (state.error?.type === 'aborted') aborted++
    }
  }
  return aborted
}

/**
 * Every compaction has ended; where a due one was cut off, the run did not go on without another. Returns how many were
 * completed, and how many cut off.
 */
export function assertCompacted(messages: readonly WireMessage[]): {
  readonly completed: number
  readonly cutOff: number
} {
  let [completed, cutOff] = [0, 0]
  for (const [at, { id, type, status, summary, reason, error }] of messages.entries()) {
    if (type !== 'compaction') continue
    if (status === 'completed') {
      assert.match(summary ?? '', /^portico\/echo cannot summarize/)
      completed++
      continue
    }
    assert.equal(status, 'failed', `the compaction ${id} never ended`)
    assert.match(error?.type ?? '', /^(aborted|compaction\.(failed|empty))$/)
    if (error?.type !== 'aborted') continue
    cutOff++
    const next = messages.slice(at + 1).find((message) => message.type !== 'user')
    if (reason === 'auto') assert.equal(next?.type, 'compaction', `${id} was cut off, and did not begin anew`)
  }
  return { completed, cutOff }
}

/**
 * The sessions below each are those that its calls name, and each was prompted once unless it was interrupted before.
 * Returns their messages.
 */
export async function assertChildren(client: InstanceClient, sessions: readonly string[]): Promise<WireMessage[][]> {
  const all: WireMessage[][] = []
  for (const parent of sessions) {
    const parts = (await client.messages(parent)).flatMap(({ content = [] }) => content)
    const ended = new Map(parts.map(({ state }) => [state?.metadata?.sessionID, state?.status]))
    const made = await client.children(parent)
    for (const [id, status] of ended) {
      if (status === 'completed' && id !== undefined)
        assert.ok(made.includes(String(id)), 'the session of a call was lost')
    }
    for (const id of made) {
      assert.ok(ended.has(id), 'a session works for no call')
      await client.wait(id)
      const messages = await client.messages(id)
      const asked = messages.filter(({ type }) => type === 'user').length
      assert.ok(asked === 1 || (asked === 0 && ended.get(id) === 'error'), `${id} was asked ${asked} times`)
      all.push(messages)
    }
  }
  return all
}

/** No call was made twice, and every completed one was made. `made`: the traces that calls have left, by tag. */
export function assertMadeOnce(made: readonly string[], messages: readonly WireMessage[]): void {
  const tags = new Set(made)
  const twice = made.filter((tag, at) => made.indexOf(tag) !== at)
  assert.deepEqual(twice, [], 'calls were made twice')
  for (const { state } of messages.flatMap(({ content = [] }) => content)) {
    const { tag } = state?.input ?? {}
    if (state?.status === 'completed' && tag !== undefined) assert.ok(tags.has(String(tag)), `${tag} was not made`)
  }
}
