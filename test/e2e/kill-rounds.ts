import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { InstanceClient, type WireMessage } from '#test/support/instance-client.ts'
import { noneAlive, scratchDirectory } from '#test/support/processes.ts'
import { type Product, startSingle } from '#test/support/product.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** What a series of kills did. */
export interface KillReport {
  readonly kills: number
  readonly sent: number
  readonly accepted: number
  readonly toolCalls: number
  readonly abortedCalls: number
  /** Sessions that worked for a tool call. */
  readonly children: number
  /** Runs that were interrupted, most of them while their command printed. */
  readonly interrupted: number
}

const SESSIONS = 6

/**
 * Kills the single process again and again while prompts are admitted and run, then starts it once more and holds it to
 * its promise: every accepted prompt is exactly one user message with its file, every run has ended, no tool call was started twice,
 * every session that worked for a call is there and was asked once, and no process of a tool is alive. `random` answers numbers from 0 up to 1.
 */
export async function killRounds(kills: number, random: () => number): Promise<KillReport> {
  using data = scratchDirectory()
  using project = scratchDirectory()
  const marker = `31${Math.floor(random() * 1e9)}`
  const calls = join(project.path, 'calls')
  /** Whether each prompt came with a file. */
  const accepted = new Map<string, boolean>()
  const sessions = Array.from({ length: SESSIONS }, (_, index) => `ses_kill${index}`)
  let sent = 0

  const work = async (client: InstanceClient, sessionId: string, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const id = `msg_kill${sent++}`
      try {
        await client.createSession({ id: sessionId })
        const text = promptText(id, calls, marker, random())
        const [file, resume] = [random() < 0.25, random() < 0.9]
        await client.prompt(sessionId, { id, text, delivery: 'queue', resume, ...(file && { files: [fileOf(id)] }) })
        accepted.set(id, file)
        if (text.includes(PRINTING)) {
          await sleep(100 + random() * 300)
          await client.post(`/api/session/${sessionId}/interrupt`, undefined)
        }
      } catch {
        if (!signal.aborted) await sleep(5)
      }
      await sleep(20 + random() * 120)
    }
  }

  // A process that ends by itself leaves its compiled code behind (NODE_COMPILE_CACHE): later ones are quicker.
  const first = await startSingle({ dataDirectory: data.path, project: project.path })
  await settled(first, sessions.slice(0, 1))
  await first.stop()
  for (let round = 0; round < kills; round++) {
    const product = await startSingle({ dataDirectory: data.path, project: project.path })
    const over = new AbortController()
    const client = new InstanceClient(product.url)
    const working = sessions.map((sessionId) => work(client, sessionId, over.signal))
    const before = accepted.size
    // Some are killed while they still begin, whatever that takes.
    if (random() < 0.8) await waitFor('a prompt to be accepted', () => accepted.size > before)
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
    const interrupted = messages.filter(({ outcome }) => outcome === 'interrupted').length
    const children = await assertChildren(new InstanceClient(product.url), sessions)
    return { kills, sent, accepted: accepted.size, toolCalls, abortedCalls, children, interrupted }
  } finally {
    await product.stop()
    await noneAlive(marker)
  }
}

/** A command that prints without end. */
const PRINTING = 'while :; do echo lighthouse; sleep 0.01; done'

function promptText(id: string, calls: string, marker: string, chance: number): string {
  if (chance < 0.3) return `/slow 5\n/length 20`
  if (chance < 0.5) return `What is in this project? (${id})`
  if (chance > 0.85)
    return `/tool bash ${JSON.stringify({ command: `echo ${id} >> ${calls}; sleep ${marker} & ${PRINTING}` })}`
  if (chance < 0.6) {
    const prompt = `/slow 5\n/tool bash ${JSON.stringify({ command: `echo ${id} >> ${calls}; sleep 0.1` })}`
    return `/tool task ${JSON.stringify({ description: id, prompt, subagent_type: 'general' })}`
  }
  // A command that leaves its output to another takes half a second more.
  const output = chance < 0.68 ? '' : '>/dev/null 2>&1'
  const command = `echo ${id} >> ${calls}; sleep ${marker} ${output} & sleep 0.${Math.floor(chance * 3)}`
  return `/tool bash ${JSON.stringify({ command })}`
}

/** A file whose content nobody else's has. */
function fileOf(id: string): { readonly uri: string; readonly name: string } {
  return { uri: `data:text/plain;base64,${Buffer.from(id).toString('base64')}`, name: `${id}.txt` }
}

/**
 * Wakes every session, since what was parked or waited when an interrupt came does not run by itself, until all is done.
 * Commands that print without end are interrupted.
 */
async function settled(product: Product, sessions: readonly string[]): Promise<WireMessage[]> {
  const client = new InstanceClient(product.url)
  const conversations = sessions.map(async (sessionId) => {
    await client.createSession({ id: sessionId })
    for (;;) {
      const { id } = await client.prompt(sessionId, { text: '/length 1', delivery: 'queue' })
      await quiet(client, sessionId)
      if ((await client.messages(sessionId)).some((message) => message.id === id)) break
    }
    return client.messages(sessionId)
  })
  return (await Promise.all(conversations)).flat()
}

async function quiet(client: InstanceClient, sessionId: string): Promise<void> {
  const over = new AbortController()
  const idle = client.wait(sessionId).finally(() => over.abort())
  while (!over.signal.aborted) {
    await sleep(200, undefined, { signal: over.signal }).catch(() => {})
    const running = (await client.messages(sessionId)).findLast(({ type }) => type === 'user')
    if (!over.signal.aborted && running?.text?.includes(PRINTING))
      await client.post(`/api/session/${sessionId}/interrupt`, undefined)
  }
  await idle
}

function assertKept(messages: readonly WireMessage[], accepted: ReadonlyMap<string, boolean>): void {
  const users = messages.filter(({ type }) => type === 'user')
  const byId = new Map(users.map((message) => [message.id, message]))
  assert.equal(byId.size, users.length, 'a prompt became two messages')
  const lost = [...accepted].filter(([id]) => !byId.has(id))
  assert.deepEqual(lost, [], 'accepted prompts are missing')
  for (const [id, file] of accepted) {
    const files = byId.get(id)?.files?.map(({ data }) => Buffer.from(data ?? '', 'base64').toString())
    assert.deepEqual(files, file ? [id] : undefined, `${id} does not have the files that it was accepted with`)
  }
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

/** The sessions below each are those that its calls name, and each was asked once, if it was not interrupted before. */
async function assertChildren(client: InstanceClient, sessions: readonly string[]): Promise<number> {
  let all = 0
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
      const asked = (await client.messages(id)).filter(({ type }) => type === 'user').length
      assert.ok(asked === 1 || (asked === 0 && ended.get(id) === 'error'), `${id} was asked ${asked} times`)
    }
    all += made.length
  }
  return all
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
