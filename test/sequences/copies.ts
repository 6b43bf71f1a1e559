import { isDeepStrictEqual } from 'node:util'
import type { WireMessage } from '#test/support/instance-client.ts'
import { type Asked, asking } from './asked.ts'
import { Client } from './client.ts'
import { RULES } from './commands.ts'
import type { Info } from './history.ts'
import { sendInput } from './inputs.ts'
import { sumOf } from './judge/changes.ts'
import { SessionClient } from './session-client.ts'
import type { Work } from './step.ts'

/** What `session.export` returns. */
interface Transfer {
  readonly info: Info
  readonly messages: readonly WireMessage[]
}

const IMPORT = '/api/experimental/session/import'

/** Forks the session, and checks the result. */
export async function fork(session: SessionClient, place: number | 'unknown' | undefined): Promise<void> {
  const before = await boundaryOf(session, place)
  if (place !== undefined && before === undefined) return
  const asked = asking()
  const answer = await session.send('POST', '/fork', before === undefined ? {} : { before }, asked)
  const { _tag, kind } = (answer.body ?? {}) as { _tag?: string; kind?: string }
  if (place === 'unknown') {
    if (_tag !== 'MessageNotFoundError') session.expect(404, answer)
    return
  }
  // There may be nothing to copy yet.
  if (before === undefined && asked.status === 400 && kind === 'empty_session')
    return void session.history.emptyForks.push(asked)
  if (!session.expect(200, answer)) return
  const { data: info } = answer.body as { data: Info }
  const made = new SessionClient(session.scene, info.id, session.history.problems)
  session.offspring.push({ session: made, sure: true })
  session.history.copies.push({ kind: 'fork', asked, info, messages: await made.client.messages(info.id), before })
}

async function boundaryOf(session: SessionClient, place: number | 'unknown' | undefined): Promise<string | undefined> {
  if (place === 'unknown') return 'msg_nobody_knows'
  if (place === undefined) return undefined
  const { body } = await session.send('GET', `/message?order=asc&limit=${place + 1}`)
  return (body as { data?: WireMessage[] } | undefined)?.data?.at(-1)?.id
}

/**
 * Exports the session, checks that it is not imported where it exists, and imports it as another one, which exports the
 * same.
 */
export async function transfer(session: SessionClient): Promise<void> {
  const { history } = session
  const asked = asking()
  const out = await exported(session, asked)
  if (out === undefined) return
  history.copies.push({ kind: 'export', asked, ...out })
  await refuseImport(session, out)
  const name = `${history.sessionId.slice(4)}i${session.offspring.length}`
  const info = { ...out.info, id: `ses_${name}` }
  // Ids of messages are taken as well.
  const messages = out.messages.map((message, i) => ({ ...message, id: `msg_${name}_${i}` }))
  const copy = new SessionClient(session.scene, info.id, history.problems)
  const isThere = await imported(session, copy, { info, messages })
  if (isThere === false) return
  session.offspring.push({ session: copy, sure: isThere === true })
  const again = isThere === undefined ? undefined : await exported(copy)
  if (again !== undefined && !isDeepStrictEqual(kept(again), kept({ info, messages }))) {
    const both = JSON.stringify([kept({ info, messages }), kept(again)])
    history.problems.push(`${info.id} was imported, and exported as something else: ${both.slice(0, 4_000)}`)
  }
}

/** What exists is not imported, neither the session nor its messages. */
async function refuseImport(session: SessionClient, { info, messages }: Transfer): Promise<void> {
  const { sessionId, removal } = session.history
  // Ids are free again once the session is removed.
  if (removal !== undefined) return
  const other = { ...info, id: `${sessionId}other` }
  const cases = [
    { out: { info, messages }, resource: sessionId },
    ...messages.slice(0, 1).map((message) => ({ out: { info: other, messages: [message] }, resource: message.id })),
  ]
  for (const { out, resource } of cases) {
    const { asked, body } = await session.client.ask('POST', IMPORT, out)
    const named = (body as { resource?: string } | undefined)?.resource
    if (asked.status !== undefined && (asked.status !== 409 || named !== resource))
      session.wrong(`an import of ${resource}, which is there`, asked, body)
  }
}

async function exported(session: SessionClient, asked: Asked = asking()): Promise<Transfer | undefined> {
  const { history } = session
  const path = `/api/experimental/session/${history.sessionId}/export`
  const found: string[] = []
  const answer = await new Client(session.scene, found).ask('GET', path, undefined, undefined, asked)
  // An export in progress is cut off when its session is removed.
  const isCut = (problem: string) => history.removal !== undefined && problem.startsWith(`GET ${path} failed`)
  history.problems.push(...found.filter((problem) => !isCut(problem)))
  return session.expect(200, answer) ? (answer.body as { data: Transfer }).data : undefined
}

/** What an import keeps of a session. */
function kept({ info: { location: _l, projectID: _p, subpath: _s, fork: _f, time, ...info }, messages }: Transfer) {
  const { updated: _, ...times } = time
  return { info: { ...info, time: times }, messages }
}

/** Imports a session; returns whether it exists. Undefined: unknown, it may still come. */
async function imported(from: SessionClient, to: SessionClient, transfer: Transfer): Promise<boolean | undefined> {
  const { location, parentID } = transfer.info
  const answer = await from.client.ask('POST', IMPORT, { ...transfer, location })
  const { asked } = answer
  if (asked.status === undefined) return (await to.insist('GET', '')).asked.status === 200 || undefined
  if (parentID === undefined && asked.status === 200) return true
  return from.expect(200, answer)
}

let serial = 0

/** Creates a session below this one, or below the last one created so, and gives it work. */
export async function makeChild(session: SessionClient, deep: boolean, work: Work): Promise<void> {
  const { children } = session
  const parent = (deep ? children.findLast(({ sure }) => sure)?.session : undefined) ?? session
  const id = `${session.history.sessionId}c${serial++}`
  const child = new SessionClient(session.scene, id, session.history.problems)
  const info = {
    id,
    parentID: parent.history.sessionId,
    cost: 0,
    time: { created: Date.now() },

    tokens: sumOf([]),
    permissions: RULES.strict,
    location: { directory: session.scene.places.home },
  }
  const isThere = await imported(parent, child, { info, messages: [] })
  if (isThere === false) return
  child.history.removal = lateRemoval(session.history.removal)
  children.push({ session: child, sure: isThere === true })
  if (isThere === true) await sendInput(child, work, 'steer')
}

/** Sessions below it are removed some time after it. */
function lateRemoval(removal: Asked | undefined): Asked | undefined {
  return removal && { ...removal, ended: Infinity, answered: Infinity, status: undefined }
}

/** Removes the session and all below it. */
export async function remove(session: SessionClient): Promise<void> {
  const { history } = session
  const asked = asking()
  if (history.removal !== undefined) return
  history.removal = asked
  for (const { session: child } of session.children) child.history.removal = lateRemoval(asked)
  const { body } = await session.insist('DELETE', '', undefined, asked)
  // Once it is removed it is unknown; and a client without an answer retries.
  if (asked.status !== 204 && asked.status !== 404) session.wrong('remove', asked, body)
}
