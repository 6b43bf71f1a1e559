import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { KEYS } from '#test/support/processes.ts'

/** What was done, by name. */
export type Tally = Record<string, number>

interface Load {
  readonly url: string
  /** Until when, in epoch milliseconds. */
  readonly until: number
  readonly tally: Tally
  readonly random: () => number
}

type Work = (load: Load, turn: number, lane: number) => Promise<void>

const RULES = [{ action: 'bash', resource: '*# ask-me', effect: 'ask' }]
const PRINT = 'yes abcdefghijklmno | head -c 3000000'
/** After this many prompts a session is left and another one begun, so that no conversation grows without end. */
const PROMPTS = 12
const PATIENCE_MS = 300_000

/**
 * Everything that clients do at once, in lanes that each do one thing after the other. Resolves when the time is up.
 */
export async function mixedLoad(url: string, seconds: number, random: () => number): Promise<Tally> {
  const load: Load = { url, until: Date.now() + seconds * 1_000, tally: {}, random }
  const lanes: [Work, number][] = [
    [talk, 5],
    [useTools, 3],
    [streamEvents, 3],
    [respond, 3],
    [sendNonsense, 1],
  ]
  await Promise.all(
    lanes.flatMap(([work, count]) => Array.from({ length: count }, (_, lane) => repeat(load, work, lane))),
  )
  return load.tally
}

async function repeat(load: Load, work: Work, lane: number): Promise<void> {
  for (let turn = 0; Date.now() < load.until; turn++) {
    await work(load, turn, lane)
    load.tally[work.name] = (load.tally[work.name] ?? 0) + 1
    await sleep(20 + load.random() * 100)
  }
}

/** Prompts that are answered, fail, are steered into, and interrupted. */
async function talk({ url, random }: Load, turn: number, lane: number): Promise<void> {
  const session = await sessionOf(url, `talk${lane}`, turn)
  const texts = [
    '/length 40',
    '/slow 15\n/length 30',
    '/fail 400',
    'What is in this project?',
    '/slow 500\n/length 1000',
  ]
  const text = texts[Math.floor(random() * texts.length)] ?? ''
  await post(url, `/api/session/${session}/prompt`, { text, delivery: random() < 0.5 ? 'steer' : 'queue' })
  if (text.startsWith('/slow 500') || random() < 0.3) {
    await sleep(random() * 300)
    await post(url, `/api/session/${session}/interrupt`)
  }
  await quiet(url, session)
}

/** Commands that print much, need permission or are interrupted while they print; and searches. */
async function useTools({ url, random }: Load, turn: number, lane: number): Promise<void> {
  const session = await sessionOf(url, `tool${lane}`, turn)
  const kind = Math.floor(random() * 4)
  const bash = (command: string): string => `/tool bash ${JSON.stringify({ command })}`
  const grep = `/tool grep ${JSON.stringify({ pattern: 'l[aeiou]ght.*7' })}`
  const texts = [
    bash(PRINT),
    bash(`while :; do ${PRINT}; sleep 0.1; done`),
    bash(`echo asked ${random()} # ask-me`),
    `${grep}\n${grep}`,
  ]
  await post(url, `/api/session/${session}/prompt`, { text: texts[kind] })
  if (kind === 1) {
    await sleep(300 + random() * 500)
    await post(url, `/api/session/${session}/interrupt`)
  }
  if (kind === 2) await replyTo(url, session, ['once', 'always', 'reject'][Math.floor(random() * 3)] ?? '')
  await quiet(url, session)
}

async function replyTo(url: string, session: string, reply: string): Promise<void> {
  for (let tries = 0; tries < 40; tries++) {
    const { data } = (await post(url, `/api/session/${session}/permission`, undefined, 'GET')) as {
      data: { id: string }[]
    }
    if (data[0] !== undefined) {
      // It may have expired meanwhile.
      await request(`${url}/api/session/${session}/permission/${data[0].id}/reply`, json({ reply })).then((answer) =>
        answer.text(),
      )
      return
    }
    await sleep(25)
  }
}

/** A reader that listens for a while and leaves without a word. */
async function streamEvents({ url, random }: Load): Promise<void> {
  const hangUp = new AbortController()
  const answer = await request(`${url}/api/event`, { signal: hangUp.signal })
  assert.equal(answer.status, 200)
  const reading = (async () => {
    for await (const _ of answer.body ?? []) if (hangUp.signal.aborted) return
  })().catch(() => {})
  await sleep(random() * 2_000)
  hangUp.abort()
  await reading
}

/** Responses, whole and streamed; some streams are abandoned halfway. */
async function respond({ url, random }: Load): Promise<void> {
  const stream = random() < 0.6
  const hangUp = new AbortController()
  const init = json(
    { model: 'portico/echo', input: '/slow 2\n/length 60', stream },
    { authorization: `Bearer ${KEYS.api}` },
  )
  const answer = await request(`${url}/api/v1/responses`, { ...init, signal: hangUp.signal })
  assert.equal(answer.status, 200)
  if (stream && random() < 0.5) {
    await sleep(random() * 80)
    hangUp.abort()
    await answer.text().catch(() => {})
  } else await answer.text()
}

/** Input that is refused. */
async function sendNonsense({ url, random }: Load): Promise<void> {
  const bodies = ['{', '[]', '{"text":1}', '{"text":"x","more":1}', '['.repeat(5_000), `"${'x'.repeat(200_000)}"`]
  const paths = [
    '/api/session',
    '/api/session/ses_none/prompt',
    '/api/v1/responses',
    '/api/session/nonsense/prompt',
    '/nowhere',
  ]
  const path = paths[Math.floor(random() * paths.length)] ?? ''
  const body = bodies[Math.floor(random() * bodies.length)] ?? ''
  const answer = await request(`${url}${path}`, { ...json(undefined, { authorization: `Bearer ${KEYS.api}` }), body })
  assert.ok(answer.status >= 400 && answer.status < 500, `${path} answered ${answer.status} to ${body.slice(0, 30)}`)
  await answer.text()
}

/**
 * A prompt that an interrupt parked before it began runs with the next one, and has to be interrupted again if it is
 * long.
 */
async function quiet(url: string, session: string): Promise<void> {
  for (let tries = 0; tries < PROMPTS + 3; tries++) {
    const signal = AbortSignal.timeout(3_000)
    const answer = await request(`${url}/api/session/${session}/wait`, { method: 'POST', signal }).catch(
      (error: unknown) => {
        if (!signal.aborted) throw error
      },
    )
    if (answer?.status === 204) return
    await post(url, `/api/session/${session}/interrupt`)
  }
  const seen = await post(url, `/api/session/${session}/message?limit=3`, undefined, 'GET')
  assert.fail(`${session} does not become idle; last seen: ${JSON.stringify(seen).slice(0, 4_000)}`)
}

/** Each lane has its own sessions, one after the other. */
async function sessionOf(url: string, lane: string, turn: number): Promise<string> {
  const id = `ses_${lane}x${Math.floor(turn / PROMPTS)}`
  if (turn % PROMPTS === 0) await post(url, '/api/session', { id, permissions: RULES })
  return id
}

/**
 * Like fetch, which may open a connection that it then has no use for: 20 s later the server answers 408 there, and the
 * next request on it receives that.
 */
async function request(address: string, init?: RequestInit): Promise<Response> {
  const answer = await fetch(address, init)
  return answer.status === 408 ? fetch(address, init) : answer
}

async function post(url: string, path: string, body?: unknown, method = 'POST'): Promise<unknown> {
  const init = body === undefined ? { method } : json(body)
  const answer = await request(`${url}${path}`, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) })
  const text = await answer.text()
  assert.ok(answer.ok, `${method} ${path} answered ${answer.status}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

function json(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body) ?? '',
  }
}
