import { setTimeout as sleep } from 'node:timers/promises'
import { type Asked, asking } from './asked.ts'
import { textOf } from './commands.ts'
import type { SentInput } from './history.ts'
import type { SessionClient } from './session-client.ts'
import type { Answer, Delivery, Place, Work } from './step.ts'

/** How an input is sent. */
export interface Sending {
  readonly kind?: SentInput['kind']
  readonly parked?: boolean
  /** The server generates the id; the input is then sent only once. */
  readonly minted?: boolean
}

/** Sends an input; one with an id as often as it takes to learn its fate. */
export async function sendInput(
  session: SessionClient,
  work: Work,
  delivery: Delivery,
  { kind = 'user', parked = false, minted = false }: Sending = {},
): Promise<void> {
  const { inputs, sessionId, calls } = session.history
  const tag = String(inputs.length)
  const asked = asking()
  const sent: SentInput = {
    kind,
    id: minted ? undefined : `msg_${sessionId.slice(4)}_${tag}`,
    text: textOf(work, tag, calls),
    work,

    delivery,
    asked,
    accepted: false,
    cancelled: false,
    queued: delivery === 'queue',
  }
  inputs.push(sent)
  await admit(session, sent, asked, sent.text, parked)
}

/** Sends an input again, or another one under its id. */
export async function repeat(session: SessionClient, back: number, other: boolean, parked: boolean): Promise<void> {
  const sent = known(session, back)
  if (sent === undefined) return
  const asked = asking()
  if (!other) session.history.repeats.push({ asked, id: sent.id })
  await admit(session, sent, asked, other ? `${sent.text}\nAnd something else.` : sent.text, parked)
}

async function admit(session: SessionClient, sent: SentInput, asked: Asked, text: string, parked: boolean) {
  const { id, delivery, kind } = sent
  const request = { ...(id === undefined ? {} : { id }), text, delivery, ...(parked ? { resume: false } : {}) }
  const suffix = kind === 'user' ? '/prompt' : '/synthetic'
  // Noted before it is sent: it may take effect while its answer is unknown.
  if (!parked) session.history.wakes.push(asked)
  const answer = await (id === undefined
    ? session.send('POST', suffix, request, asked)
    : session.insist('POST', suffix, request, asked))
  if (text !== sent.text) {
    session.expect(409, answer)
    return
  }
  // What was cancelled is not accepted again.
  if (sent.cancelled && answer.asked.status === 409) return
  if (!session.expect(200, answer)) return
  const admitted = (answer.body as { data?: { id: string; payload?: { text?: string } } } | undefined)?.data
  if (admitted?.payload?.text !== text || (id !== undefined && admitted.id !== id))
    return session.wrong(kind, asked, answer.body)
  sent.id = admitted.id
  sent.accepted = true
}

function known({ history }: SessionClient, back: number): (SentInput & { id: string }) | undefined {
  const all = history.inputs.filter(
    (sent): sent is SentInput & { id: string } => sent.accepted && sent.id !== undefined,
  )
  return all.at(-1 - back)
}

export async function cancel(session: SessionClient, back: number): Promise<void> {
  const sent = known(session, back)
  if (sent === undefined) return
  sent.cancelled = true
  const asked = asking()
  session.history.cancels.push({ asked, id: sent.id })
  session.expect(204, await session.insist('DELETE', `/inbox/${sent.id}`, undefined, asked))
}

export async function redeliver(session: SessionClient, back: number, delivery: Delivery): Promise<void> {
  const sent = known(session, back)
  if (sent === undefined) return
  const asked = asking()
  if (delivery === 'steer') session.history.wakes.push(asked)
  else sent.queued = true
  // It may no longer wait, or already for this boundary.
  session.expect([204, 409], await session.send('PATCH', `/inbox/${sent.id}`, { delivery }, asked))
}

export async function move(session: SessionClient, to: Place, delivery: Delivery): Promise<void> {
  const directory = session.scene.places[to]
  const asked = asking()
  if (to !== 'missing') {
    session.history.moves.push({ asked, directory })
    session.history.wakes.push(asked)
  }
  session.expect(to === 'missing' ? 400 : 204, await session.send('POST', '/move', { directory, delivery }, asked))
}

/** Requests a summary; one that is already waiting is the same. */
export async function compact(session: SessionClient): Promise<void> {
  const { compactions, sessionId, wakes } = session.history
  const asked = asking()
  const sent: (typeof compactions)[0] = { asked, id: undefined }
  compactions.push(sent)
  wakes.push(asked)
  const body = { id: `msg_${sessionId.slice(4)}_sum${compactions.length}`, delivery: 'queue' }
  const answer = await session.send('POST', '/compact', body, asked)
  if (session.expect(200, answer)) sent.id = (answer.body as { data: { id: string } }).data.id
}

/** Whether anything was running. */
export async function interrupt(session: SessionClient, resume = false): Promise<boolean> {
  const asked = asking()
  const { interrupts, goOns, wakes } = session.history
  interrupts.push(asked)
  if (resume) {
    goOns.push(asked)
    wakes.push(asked)
  }
  const answer = await session.send('POST', `/interrupt${resume ? '?resume=true' : ''}`, undefined, asked)
  if (!session.expect(200, answer)) return false
  const { interrupted } = answer.body as { interrupted?: boolean }
  // Nothing was running, nor about to.
  if (interrupted === false) interrupts.splice(interrupts.indexOf(asked), 1)
  return interrupted === true
}

/** Resumes the session, and waits until it is idle, up to that long. */
export async function resume(session: SessionClient, ms: number): Promise<void> {
  const asked = asking()
  session.history.resumes.push(asked)
  session.history.wakes.push(asked)
  session.expect(204, await session.client.ask('POST', `${session.path}/resume`, undefined, ms, asked))
}

/** Waits until the session is idle, up to that long; returns whether it is. */
export async function wait(session: SessionClient, ms: number): Promise<boolean> {
  const path = `/api/experimental/session/${session.history.sessionId}/wait`
  const answer = await session.client.ask('POST', path, undefined, ms)
  if (!session.expect(204, answer)) return false
  session.history.waits.push(answer.asked)
  return true
}

interface PermissionRequest {
  readonly id: string
  readonly save?: readonly string[]
  readonly source?: { readonly messageID: string; readonly id: string }
}

/** Replies to the oldest permission request, if one appears within a moment. */
export async function reply(session: SessionClient, answer: Answer): Promise<void> {
  let request: PermissionRequest | undefined
  for (let tries = 0; tries < 12 && request === undefined; tries++) {
    if (tries > 0) await sleep(60)
    const { body } = await session.send('GET', '/permission')
    request = (body as { data?: PermissionRequest[] } | undefined)?.data?.[0]
  }
  if (request === undefined) return
  const said = answer === 'correct' ? { reply: 'reject', message: 'Not that way' } : { reply: answer }
  const asked = asking()
  const { messageID: messageId = '', id: callId = '' } = request.source ?? {}
  const saves = request.save ?? []
  session.history.replies.push({ asked, answer, requestId: request.id, messageId, callId, saves })
  // It may have expired, or been answered, meanwhile.
  session.expect([204, 404], await session.send('POST', `/permission/${request.id}/reply`, said, asked))
}
