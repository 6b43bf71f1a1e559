import { setTimeout as sleep } from 'node:timers/promises'
import type { WireMessage } from '#test/support/instance-client.ts'
import { asking } from './asked.ts'
import { RULES } from './commands.ts'
import { lookAtExtensions } from './extensions.ts'
import type { WireEvent } from './follow.ts'
import type { SessionClient } from './session-client.ts'
import type { Look } from './step.ts'

/** Creates the session; if it exists, this changes nothing. */
export async function create(session: SessionClient): Promise<void> {
  const { history, scene, client } = session
  // An id is free again once its session is removed.
  if (history.removal !== undefined) return
  const id = history.sessionId
  const location = { directory: scene.places.home }
  const answer = await client.insist('POST', '/api/session', { id, location, permissions: RULES.strict })
  if (!session.expect(200, answer)) return
  if ((answer.body as { data?: { id?: string } }).data?.id !== id) session.wrong('create', answer.asked, answer.body)
}

export async function look(session: SessionClient, at: Look): Promise<void> {
  const { sessionId, problems } = session.history
  if (at === 'create') return create(session)
  if (at === 'step') return awaitStep(session)
  if (at === 'log') return seeLog(session)
  if (at === 'inbox') return seeInbox(session)
  if (at === 'extensions') return lookAtExtensions(session)
  if (at === 'typed') {
    for (const type of TYPES) {
      if ((await messagesOf(session, type)).some((message) => message.type !== type))
        problems.push(`a list of messages of type ${type} has others`)
    }
    return
  }
  if (at === 'messages') {
    const ids = (await session.client.messages(sessionId)).map(({ id }) => id)
    if (new Set(ids).size !== ids.length) problems.push('a message is listed twice')
    return
  }
  const paths = {
    session: session.path,
    sessions: '/api/session?limit=200',
    active: '/api/session/active',
    permissions: `${session.path}/permission`,
  }
  const answer = await session.client.get(paths[at])
  const { asked, body } = answer
  if (at === 'sessions' || at === 'active') {
    // They exist whatever happens to the session.
    if (asked.status !== undefined && asked.status !== 200) session.wrong(at, asked, body)
    return
  }
  if (!session.expect(200, answer)) return
  const { data } = body as { data: { readonly id?: string } }
  if (at === 'session' && data.id !== sessionId) session.wrong('get', asked, body)
}

/** Types of messages that are listed separately. */
export const TYPES = ['user', 'assistant', 'synthetic', 'location-switched', 'compaction', 'idle'] as const

/** Messages of one type, oldest first. */
export async function messagesOf(session: SessionClient, type: string): Promise<WireMessage[]> {
  return session.client.messages(session.history.sessionId, `&type=${type}`)
}

async function seeInbox(session: SessionClient): Promise<void> {
  const asked = asking()
  const answer = await session.send('GET', '/inbox', undefined, asked)
  if (!session.expect(200, answer)) return
  const { data } = answer.body as { data: { id: string }[] }
  session.history.inboxes.push({ asked, ids: data.map(({ id }) => id) })
}

/** Reads the log, and then again from the event in its middle. */
async function seeLog(session: SessionClient): Promise<void> {
  let after = 0
  for (let round = 0; round < 2; round++) {
    const asked = asking()
    const events = await readLog(session, after)
    const middle = events?.[events.length >> 1]
    if (events === undefined || middle === undefined) return
    session.history.logs.push({ asked, after, events })
    after = middle.durable.seq
  }
}

interface Synced {
  readonly type: 'log.synced'
  readonly aggregateID: string
  readonly seq?: number
}

/** The events after a number; undefined if the log was not read to its end. */
export async function readLog(session: SessionClient, after: number): Promise<WireEvent[] | undefined> {
  const { sessionId, problems, removal } = session.history
  const path = `/api/experimental/session/${sessionId}/log?after=${after}`
  const since = Date.now()
  const answer = await session.client.ask('GET', path)
  if (!session.expect(200, answer)) return undefined
  const entries = (answer.body as (WireEvent | Synced)[]).slice()
  const synced = entries.pop()
  if (synced?.type !== 'log.synced') {
    if (removal === undefined && !session.scene.disturbed(since)) problems.push(`the log after ${after} broke off`)
    return undefined
  }
  const events = entries as WireEvent[]
  const last = events.at(-1)?.durable.seq
  if ((synced as Synced).aggregateID !== sessionId || (last !== undefined && (synced as Synced).seq !== last))
    problems.push(`the log after ${after} ends with ${last} and says ${JSON.stringify(synced)}`)
  return events
}

/** Waits a moment until the model is called, or a call runs. */
async function awaitStep(session: SessionClient): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const { body } = await session.send('GET', '/message?limit=1')
    if ((body as { data?: { type: string }[] } | undefined)?.data?.[0]?.type === 'assistant') return
    await sleep(20)
  }
}
