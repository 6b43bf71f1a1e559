import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { InstanceClient, type WireMessage } from '#test/support/instance-client.ts'
import { noneAlive, scratchDirectory } from '#test/support/processes.ts'
import { type Product, startSingle } from '#test/support/product.ts'

/** What a series of kills did. */
export interface KillReport {
  readonly kills: number
  readonly sent: number
  readonly accepted: number
  readonly toolCalls: number
  readonly abortedCalls: number
}

const SESSIONS = 6

/**
 * Kills the single process again and again while prompts are admitted and run, then starts it once more and holds it to
 * its promise: every accepted prompt is exactly one user message, every run has ended, no tool call was started twice,
 * and no process of a tool is alive. `random` answers numbers from 0 up to 1.
 */
export async function killRounds(kills: number, random: () => number): Promise<KillReport> {
  using data = scratchDirectory()
  using project = scratchDirectory()
  const marker = `31${Math.floor(random() * 1e9)}`
  const calls = join(project.path, 'calls')
  const accepted = new Set<string>()
  const sessions = Array.from({ length: SESSIONS }, (_, index) => `ses_kill${index}`)
  let sent = 0

  const work = async (client: InstanceClient, sessionId: string, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const id = `msg_kill${sent++}`
      try {
        await client.createSession({ id: sessionId })
        await client.prompt(sessionId, { id, text: promptText(id, calls, marker, random()), delivery: 'queue' })
        accepted.add(id)
      } catch {
        if (!signal.aborted) await sleep(5)
      }
      await sleep(20 + random() * 120)
    }
  }

  for (let round = 0; round < kills; round++) {
    const product = await startSingle({ dataDirectory: data.path, project: project.path })
    const over = new AbortController()
    const client = new InstanceClient(product.url)
    const working = sessions.map((sessionId) => work(client, sessionId, over.signal))
    await sleep(random() * 700)
    await product.kill()
    over.abort()
    await Promise.all(working)
    await noneAlive(marker)
  }

  const product = await startSingle({ dataDirectory: data.path, project: project.path })
  try {
    const messages = await settled(product, sessions)
    assertKept(messages, accepted)
    const abortedCalls = assertEnded(messages)
    const toolCalls = assertStartedOnce(calls)
    return { kills, sent, accepted: accepted.size, toolCalls, abortedCalls }
  } finally {
    await product.stop()
    await noneAlive(marker)
  }
}

function promptText(id: string, calls: string, marker: string, chance: number): string {
  if (chance < 0.3) return `/slow 5\n/length 20`
  if (chance < 0.5) return `What is in this project? (${id})`
  const command = `echo ${id} >> ${calls}; sleep ${marker} & sleep 0.${Math.floor(chance * 3)}`
  return `/tool bash ${JSON.stringify({ command })}`
}

async function settled(product: Product, sessions: readonly string[]): Promise<WireMessage[]> {
  const client = new InstanceClient(product.url)
  const all: WireMessage[] = []
  for (const sessionId of sessions) {
    await client.createSession({ id: sessionId })
    await client.wait(sessionId)
    all.push(...(await client.messages(sessionId)))
  }
  return all
}

function assertKept(messages: readonly WireMessage[], accepted: ReadonlySet<string>): void {
  const users = messages.filter(({ type }) => type === 'user').map(({ id }) => id)
  assert.equal(new Set(users).size, users.length, 'a prompt became two messages')
  const there = new Set(users)
  assert.deepEqual(
    [...accepted].filter((id) => !there.has(id)),
    [],
    'accepted prompts are missing',
  )
}

function assertEnded(messages: readonly WireMessage[]): number {
  let aborted = 0
  for (const { id, type, time, content = [] } of messages) {
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

function assertStartedOnce(calls: string): number {
  let lines: string[] = []
  try {
    lines = readFileSync(calls, 'utf8').trim().split('\n')
  } catch {
    return 0
  }
  assert.equal(new Set(lines).size, lines.length, 'a tool call was started twice')
  return lines.length
}
