// `node bench/subscribers.ts [SUBSCRIBERS]`: the cost of an event for each of 1,000 subscribers of one workspace, in
// the single process and in a bare server of server-sent events that writes the same bytes to as many sockets,
// alternating; and the memory of idle subscribers.
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { median } from './harness/load.ts'
import type { BenchServer } from './harness/server.ts'
import { startEventServers } from './servers.ts'

const SUBSCRIBERS = Number(process.argv[2] ?? 1_000)
const ROUNDS = 7
const EVENTS = 30
/** How long after subscribers have connected, or left, the memory is measured. */
const REST_MS = 5_000
const LIMIT_MS = 30_000
const GOAL = { ratio: 3, megabytes: 50 }

/** Subscribers that count the frames that they receive. */
class Subscribers implements Disposable {
  readonly #sockets: Socket[]
  readonly #server: BenchServer
  #frames = 0
  #wanted = Number.POSITIVE_INFINITY
  #reached: () => void = () => {}
  /** The last frame of the first subscriber. */
  last = ''

  constructor(server: BenchServer, path: string) {
    this.#server = server
    const { hostname, port, host } = new URL(server.url)
    this.#sockets = Array.from({ length: SUBSCRIBERS }, (_, i) => {
      const socket = connect(Number(port), hostname)
      socket.setEncoding('latin1').on('data', (text: string) => this.#take(text, i === 0))
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      return socket
    })
  }

  /** Resolves when each has received this many frames in total. */
  async got(each: number): Promise<void> {
    this.#wanted = each * SUBSCRIBERS
    if (this.#frames >= this.#wanted) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const late = setTimeout(() => reject(new Error(`${this.#frames} frames of ${this.#wanted}`)), LIMIT_MS)
    this.#reached = resolve
    await promise.finally(() => clearTimeout(late))
  }

  get megabytes(): number {
    const status = readFileSync(`/proc/${this.#server.process.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** A frame arrives in one piece: each is written and read before the next. */
  #take(text: string, first: boolean): void {
    const frames = text.split('\n\n').length - 1
    if (frames === 0) return
    this.#frames += frames
    if (first) this.last = text
    if (this.#frames >= this.#wanted) this.#reached()
  }
}

/** A server, its subscribers, and a function that makes it send them an event. */
interface Side {
  readonly name: string
  readonly server: BenchServer
  readonly path: string
  readonly emit: (number: number) => Promise<unknown>
}

await using servers = await startEventServers()
const { portico, reference } = servers
const post = async (url: string, body: string): Promise<void> => {
  const answer = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  await answer.bytes()
}
let frame = ''
const sides: readonly Side[] = [
  {
    name: 'reference',
    server: reference,
    path: '/',
    emit: () => post(reference.url, frame),
  },
  {
    name: 'Portico',
    server: portico,
    path: '/api/event',
    emit: (number) => post(`${portico.url}/api/session/ses_bench/agent`, JSON.stringify({ agent: `agent-${number}` })),
  },
]

await post(`${portico.url}/api/session`, JSON.stringify({ id: 'ses_bench' }))
const idle = new Map<string, number>()
const costs = new Map<string, number[]>(sides.map(({ name }) => [name, []]))
const held = sides
  .toReversed()
  .map((side) => ({ side, before: memoryOf(side), subscribers: undefined as Subscribers | undefined, got: 1 }))
await delay(REST_MS)
for (const one of held) {
  one.before = memoryOf(one.side)
  one.subscribers = new Subscribers(one.side.server, one.side.path)
  await one.subscribers.got(1)
  await delay(REST_MS)
  idle.set(one.side.name, one.subscribers.megabytes - one.before)
}
for (let round = -1; round < ROUNDS; round++) {
  for (const one of held) {
    const subscribers = one.subscribers as Subscribers
    const before = await one.side.server.cpu()
    for (let n = 0; n < EVENTS; n++) {
      await one.side.emit(n)
      await subscribers.got(++one.got)
    }
    const cost = ((await one.side.server.cpu()) - before) / (EVENTS * SUBSCRIBERS)
    if (one.side.name === 'Portico') frame = frameOf(subscribers.last)
    if (round >= 0) costs.get(one.side.name)?.push(cost)
  }
}
for (const { subscribers } of held) subscribers?.[Symbol.dispose]()

const [ours, bare] = ['Portico', 'reference'].map((name) => median(costs.get(name) ?? [])) as [number, number]
print(`an event of ${frame.length} bytes for ${SUBSCRIBERS} subscribers, CPU µs per event and subscriber`)
print(
  `  reference ${bare.toFixed(2)}, Portico ${ours.toFixed(2)}, ratio ${(ours / bare).toFixed(2)}${verdict(ours / bare <= GOAL.ratio, `at most ${GOAL.ratio}`)}`,
)
print(`memory of ${SUBSCRIBERS} idle subscribers, MB`)
const megabytes = idle.get('Portico') ?? 0
print(
  `  reference ${idle.get('reference')?.toFixed(1)}, Portico ${megabytes.toFixed(1)}${verdict(megabytes < GOAL.megabytes, `under ${GOAL.megabytes}`)}`,
)

function memoryOf({ server }: Side): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.process.pid}/status`, 'utf8'))?.[1]) / 1_024
}

/** The frame within a chunk of HTTP. */
function frameOf(text: string): string {
  const start = text.indexOf('id: ')
  return text.slice(start, text.lastIndexOf('\n\n') + 2)
}

function verdict(met: boolean, goal: string): string {
  return `   goal: ${goal}: ${met ? 'met' : 'MISSED'}`
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
