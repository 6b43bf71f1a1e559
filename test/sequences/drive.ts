import { setTimeout as sleep } from 'node:timers/promises'
import { forget, update, view } from './changes.ts'
import { fork, makeChild, remove, transfer } from './copies.ts'
import { reload } from './extensions.ts'
import { cancel, compact, interrupt, move, redeliver, repeat, reply, resume, sendInput, wait } from './inputs.ts'
import { create, look } from './looks.ts'
import { type Scene, SessionClient } from './session-client.ts'
import type { Sequence, Step } from './step.ts'

/** Does step after step in a session of its own, and lets answers arrive that were not waited for. */
export async function drive(scene: Scene, sequence: Sequence, sessionId: string): Promise<SessionClient> {
  const session = new SessionClient(scene, sessionId)
  await create(session)
  const open: Promise<unknown>[] = []
  for (const step of sequence) {
    if (step.pause > 0) await sleep(step.pause)
    if (step.do === 'join') await Promise.all(open)
    const done = doStep(session, step)
    if (step.ahead && !mayMakeAnew(step)) open.push(done)
    else await done
  }
  await Promise.all(open)
  return session
}

/** Whether it would create the session again if that had been removed meanwhile. */
function mayMakeAnew(step: Step): boolean {
  return step.do === 'transfer' || (step.do === 'look' && step.at === 'create')
}

async function doStep(session: SessionClient, step: Step): Promise<unknown> {
  switch (step.do) {
    case 'prompt':
      return sendInput(session, step.work, step.delivery, step)
    case 'synthetic':
      return sendInput(session, step.work, step.delivery, { kind: 'synthetic', parked: step.parked })
    case 'repeat':
      return repeat(session, step.back, step.other, step.parked)
    case 'cancel':
      return cancel(session, step.back)
    case 'redeliver':
      return redeliver(session, step.back, step.delivery)
    case 'move':
      return move(session, step.to, step.delivery)
    case 'interrupt':
      return interrupt(session, step.resume)
    case 'resume':
      return resume(session, step.ms)
    case 'wait':
      return wait(session, step.ms)
    case 'reply':
      return reply(session, step.answer)
    case 'forget':
      return forget(session)
    case 'agent':
      return session.expect(204, await session.send('POST', '/agent', { agent: step.agent }))
    case 'model':
      return session.expect(
        204,
        await session.send('POST', '/model', { model: { providerID: 'portico', id: step.model } }),
      )
    case 'update':
      return update(session, step)
    case 'view':
      return view(session)
    case 'fork':
      return fork(session, step.before)
    case 'transfer':
      return transfer(session)
    case 'child':
      return makeChild(session, step.deep, step.work)
    case 'remove':
      return remove(session)
    case 'compact':
      return compact(session)
    case 'reload':
      return reload(session)
    case 'look':
      return look(session, step.at)
    case 'join':
      return
  }
}
