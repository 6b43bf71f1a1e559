import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { InstanceClient, type WireMessage } from '#test/support/instance-client.ts'
import { linesOf } from '#test/support/lines-of.ts'
import { dropDatabase, freshDatabaseName } from '#test/support/mongo.ts'
import { killIfAlive, noneAlive, processesWith, scratchDirectory } from '#test/support/processes.ts'
import { type Product, type Service, startReplicas, startSingle } from '#test/support/product.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { assertChildren, assertCompacted, assertEnded, assertKept, assertMadeOnce } from './kill-judge.ts'
import { type Accepted, ExtendedProject, type Means, PRINTING, type Worker, workers } from './kill-work.ts'

/** What a series of kills did. */
export interface KillReport {
  readonly kills: number
  /** Kills of one of five processes, which came back beside the others. */
  readonly serviceKills: number
  /** Kills of plugin hosts and of MCP servers while their owner lived. */
  readonly hostKills: number
  readonly serverKills: number
  readonly sent: number
  readonly accepted: number
  /** Calls of commands and of the plugin; calls of the MCP server. */
  readonly toolCalls: number
  readonly serverCalls: number
  readonly abortedCalls: number
  /** Summaries that were completed, and those that were cut off. */
  readonly compactions: number
  readonly cutOffCompactions: number
  /** Sessions that worked for a tool call. */
  readonly children: number
  /** Runs that were interrupted, most of them while their command printed. */
  readonly interrupted: number
}

/** Programs below a server that may be killed. */
const HOST = 'plugins/host/host.ts'
const SERVER = 'mcp/scripted-server.ts'

/**
 * Kills the single process again and again while prompts are admitted and run, along with its plugin host and its MCP
 * server; given the address of a MongoDB server, five processes, one of which is killed and comes back before all are.
 * Then starts them once more and checks the promise: every accepted prompt is exactly one user message with its file,
 * every run has ended, no call of a tool, a plugin or a server was made twice, every summary has ended, every session
 * that worked for a call exists and was prompted once, and no process that any of these started is alive. `random`
 * returns numbers from 0 up to, but not including, 1.
 */
export async function killRounds(kills: number, random: () => number, mongo?: string): Promise<KillReport> {
  using data = scratchDirectory()
  using folder = scratchDirectory()
  const marker = `31${Math.floor(random() * 1e9)}`
  const means: Means = { project: folder.path, calls: join(folder.path, 'calls'), marker, random }
  const accepted: Accepted = { prompts: new Map(), compactions: new Set() }
  const extended = new ExtendedProject(means)
  const all = workers(means, extended, accepted)
  let [sent, serviceKills, hostKills, serverKills] = [0, 0, 0, 0]
  const database = freshDatabaseName()
  const environment = {
    PORTICO_TRUSTED_DIRECTORIES: JSON.stringify([extended.directory]),
    // Everything started below the server has it in its environment.
    PATH: `${process.env.PATH}:/${marker}`,
  }
  const setting = { dataDirectory: data.path, project: folder.path }
  const start = async (): Promise<Product & { readonly services?: readonly Service[] }> => {
    if (mongo === undefined) return startSingle({ ...setting, environment })
    return startReplicas(mongo, { ...setting, environment: { ...environment, PORTICO_MONGODB_DATABASE: database } }, 1)
  }

  const work = async (client: InstanceClient, { sessionId, create, send }: Worker, signal: AbortSignal) => {
    while (!signal.aborted) {
      const id = `msg_kill${sent++}`
      try {
        await client.createSession({ id: sessionId, ...create })
        await send(client, id)
      } catch {
        if (!signal.aborted) await sleep(5)
      }
      await sleep(20 + random() * 120)
    }
  }
  // While it is at work, most of the time.
  const stab = async (program: string, signal: AbortSignal): Promise<number> => {
    await untilCalled(extended, program === HOST ? 'plugin' : 'server', signal)
    await sleep(random() * 80)
    const pids = processesWith(marker).filter(({ words }) => words.includes(program))
    if (!signal.aborted) for (const { pid } of pids) killIfAlive(pid)
    return signal.aborted ? 0 : pids.length
  }

  // A process that ends by itself leaves its compiled code behind (NODE_COMPILE_CACHE), so later ones start faster.
  const first = await start()
  await settled(new InstanceClient(first.url), all.slice(0, 1))
  await first.stop()
  for (let round = 0; round < kills; round++) {
    const product = await start()
    const over = new AbortController()
    const client = new InstanceClient(product.url)
    const before = accepted.prompts.size
    const moments = {
      soon: () => sleep(random() * 700),
      // While the plugin and the server are at work, or come back.
      called: () =>
        within(5_000, untilCalled(extended, 'server', over.signal)).then(() => sleep(random() ** 2 * 2_500)),
      // While a summary is being written.
      summing: () => within(3_000, untilSumming(product, over.signal)).then(() => sleep(random() * 10)),
    }
    const moment = random() < 0.3 ? moments.soon : random() < 0.6 ? moments.called : moments.summing
    const working = all.map((worker) => work(client, worker, over.signal))
    const stabbing = Promise.all([HOST, SERVER].map((program) => (random() < 0.7 ? stab(program, over.signal) : 0)))
    // Some are killed while they are still starting, however long that takes.
    if (random() < 0.8) await waitFor('a prompt to be accepted', () => accepted.prompts.size > before)
    await moment()
    const victim = product.services?.[Math.floor(random() * product.services.length)]
    if (victim !== undefined) {
      await victim.process().kill()
      await sleep(random() * 500)
      await victim.restart()
      serviceKills++
      await moments.soon()
    }
    await product.kill()
    over.abort()
    await Promise.all(working)
    const [hosts = 0, servers = 0] = await stabbing
    hostKills += hosts
    serverKills += servers
    await noneAlive(marker)
  }

  const product = await start()
  const client = new InstanceClient(product.url)
  try {
    const conversations = await settled(client, all)
    const messages = conversations.flat()
    assertKept(messages, accepted)
    const ids = all.map(({ sessionId }) => sessionId)
    const children = await assertChildren(client, ids)
    const abortedCalls = assertEnded([...conversations, ...children])
    const made = [linesOf(means.calls), extended.calls('server')] as const
    assertMadeOnce(made.flat(), [...messages, ...children.flat()])
    const summaries = conversations.map(assertCompacted)
    const count = (pick: (each: (typeof summaries)[0]) => number) =>
      summaries.reduce((sum, each) => sum + pick(each), 0)
    await assertUsable(client, extended)
    return {
      kills,
      serviceKills,
      hostKills,
      serverKills,
      sent,
      accepted: accepted.prompts.size,

      toolCalls: made[0].length,
      serverCalls: made[1].length,
      abortedCalls,

      compactions: count(({ completed }) => completed),
      cutOffCompactions: count(({ cutOff }) => cutOff),

      children: children.length,
      interrupted: messages.filter(({ outcome }) => outcome === 'interrupted').length,
    }
  } catch (error) {
    for (const { output } of product.processes()) process.stderr.write(output())
    throw error
  } finally {
    await product.stop()
    await noneAlive(marker)
    if (mongo !== undefined) await dropDatabase(database)
  }
}

/** No run is idle for that long. */
const STUCK_MS = 600_000

async function within(ms: number, what: Promise<unknown>): Promise<void> {
  await Promise.race([what, sleep(ms)])
}

async function untilCalled(extended: ExtendedProject, what: 'plugin' | 'server', signal: AbortSignal): Promise<void> {
  const before = extended.calls(what).length
  while (!signal.aborted && extended.calls(what).length === before) await sleep(10)
}

async function untilSumming({ url }: Product, signal: AbortSignal): Promise<void> {
  const answer = await fetch(`${url}/api/event`, { signal })
  const decoder = new TextDecoder()
  for await (const chunk of answer.body ?? [])
    if (decoder.decode(chunk, { stream: true }).includes('session.compaction.started')) return
}

/** Both the plugin and the server are there, whatever happened to the processes before. */
async function assertUsable(client: InstanceClient, { directory }: ExtendedProject): Promise<void> {
  await client.createSession({ id: 'ses_usable', location: { directory } })
  await client.prompt('ses_usable', { text: '/tool count {"tag":"usable"}\n/tool server_wait {"ms":1}' })
  await client.wait('ses_usable')
  const parts = (await client.messages('ses_usable')).flatMap(({ content = [] }) => content)
  const calls = parts.filter(({ type }) => type === 'tool').map(({ name, state }) => `${name} ${state?.status}`)
  assert.deepEqual(calls, ['count completed', 'server_wait completed'])
}

/**
 * Wakes every session until all work is done, since what was parked or waiting when an interrupt came does not run by
 * itself. Endless commands are interrupted. Returns their messages.
 */
async function settled(client: InstanceClient, all: readonly Worker[]): Promise<WireMessage[][]> {
  return Promise.all(
    all.map(async ({ sessionId, create }) => {
      await client.createSession({ id: sessionId, ...create })
      for (;;) {
        const { id } = await client.prompt(sessionId, { text: '/length 1', delivery: 'queue' })
        await quiet(client, sessionId)
        if ((await client.messages(sessionId)).some((message) => message.id === id)) break
      }
      return client.messages(sessionId)
    }),
  )
}

async function quiet(client: InstanceClient, sessionId: string): Promise<void> {
  const over = new AbortController()
  const idle = untilIdle(client, sessionId).finally(() => over.abort())
  // It is awaited once nothing is left to interrupt.
  idle.catch(() => {})
  let [before, changed] = ['', performance.now()]
  while (!over.signal.aborted) {
    await sleep(200, undefined, { signal: over.signal }).catch(() => {})
    const messages = await client.messages(sessionId)
    const last = JSON.stringify(messages.slice(-3))
    if (last !== before) [before, changed] = [last, performance.now()]
    if (performance.now() - changed > STUCK_MS) assert.fail(`${sessionId} does not end: ${last}`)
    const running = messages.findLast(({ type }) => type === 'user')
    if (!over.signal.aborted && running?.text?.includes(PRINTING))
      await client.post(`/api/session/${sessionId}/interrupt`, undefined)
  }
  await idle
}

/** After many kills, the rest of the work may take longer than `fetch` waits for an answer. */
async function untilIdle(client: InstanceClient, sessionId: string): Promise<void> {
  for (;;) {
    const late = (error: Error): 'late' => {
      if ((error.cause as { code?: string } | undefined)?.code === 'UND_ERR_HEADERS_TIMEOUT') return 'late'
      throw error
    }
    if ((await client.wait(sessionId).catch(late)) !== 'late') return
  }
}
