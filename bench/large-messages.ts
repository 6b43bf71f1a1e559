// How long messages of maximum size block the event loop of the single process while they are imported, read and
// exported. Usage: large-messages.ts [BYTES]
import { MAX_MESSAGE_BYTES } from '#services/session/domain/message-size.ts'
import type { BenchServer } from './harness/server.ts'
import { startPortico } from './servers.ts'

const GOAL_MS = 50
const ROUNDS = 3
const TRANSFER = '/api/experimental/session'
const JSON_BODY = { method: 'POST', headers: { 'content-type': 'application/json' } }
const [bytes = String(MAX_MESSAGE_BYTES)] = process.argv.slice(2)
/** Leaves room for the rest of the message. */
const size = Number(bytes) - 1_024

const TEXTS: Readonly<Record<string, (length: number) => string>> = {
  'plain text': (length) => 'The quick brown fox jumps over the lazy dog. '.repeat(length / 45),
  'lines and quotes': (length) => '"a"\n'.repeat(length / 7),
  'other scripts': (length) => 'ß統計の一覧 '.repeat(length / 18),
}

const { portico, project, ...servers } = await startPortico()
await using _ = servers
for (const [name, make] of Object.entries(TEXTS))
  await measure(portico, `a ${name} of ${bytes} bytes`, user(make(size)))
for (const parts of [20, 2_000]) {
  const text = (TEXTS['plain text'] as (length: number) => string)(size / parts - 400)
  await measure(portico, `${parts} tool calls of together ${bytes} bytes`, step(parts, text))
}

async function measure(server: BenchServer, name: string, message: object): Promise<void> {
  const held: Record<string, number> = {}
  for (let round = 0; round < ROUNDS; round += 1) {
    const id = `ses_${crypto.randomUUID()}`
    const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
    const info = { id, cost: 0, tokens, time: { created: 1 } }
    const messages = [0, 1].map((n) => ({ ...message, id: `msg_${n}_${id}` }))
    const body = JSON.stringify({ info, messages, location: { directory: project } })
    const steps: Readonly<Record<string, () => Promise<Response>>> = {
      import: () => fetch(`${server.url}${TRANSFER}/import`, { ...JSON_BODY, body }),
      export: () => fetch(`${server.url}${TRANSFER}/${id}/export`),
      'export, sanitized': () => fetch(`${server.url}${TRANSFER}/${id}/export?sanitize=true`),
      page: () => fetch(`${server.url}/api/session/${id}/message?limit=1`),
      message: () => fetch(`${server.url}/api/session/${id}/message/msg_0_${id}`),
      fork: () => fetch(`${server.url}/api/session/${id}/fork`, { ...JSON_BODY, body: '{}' }),
      remove: () => fetch(`${server.url}/api/session/${id}`, { method: 'DELETE' }),
    }
    for (const [what, ask] of Object.entries(steps)) {
      const ms = await server.heldDuring(async () => {
        const answer = await ask()
        const text = await answer.text()
        if (!answer.ok) throw new Error(`${what}: ${answer.status} ${text.slice(0, 500)}`)
      })
      held[what] = Math.min(held[what] ?? Number.POSITIVE_INFINITY, ms)
    }
  }
  const shown = Object.entries(held).map(([what, ms]) => `${what} ${Math.round(ms)}`)
  const worst = Math.max(...Object.values(held))
  process.stdout.write(
    `${name}: held ms: ${shown.join(', ')}   goal: at most ${GOAL_MS}: ${worst <= GOAL_MS ? 'met' : 'MISSED'}\n`,
  )
}

function user(text: string): object {
  return { type: 'user', time: { created: 1 }, text }
}

function step(calls: number, text: string): object {
  const state = {
    status: 'completed',
    input: { text: text.slice(0, text.length / 2) },
    content: [{ type: 'text', text: text.slice(text.length / 2) }],
  }
  const content = Array.from({ length: calls }, (_, n) => ({
    type: 'tool',
    id: `call_${n}`,
    name: 'read',
    state,
    time: { created: 1, completed: 2 },
  }))
  const model = { id: 'echo', providerID: 'portico' }
  return { type: 'assistant', agent: 'build', model, time: { created: 1, completed: 2 }, finish: 'stop', content }
}
