import { asking } from './asked.ts'
import { RULES } from './commands.ts'
import type { Info } from './history.ts'
import type { SessionClient } from './session-client.ts'
import type { Action } from './step.ts'

/** Changes the description of a session; each value is unique. */
export async function update(session: SessionClient, what: Extract<Action, { do: 'update' }>): Promise<void> {
  const { updates, sessionId } = session.history
  const mark = `${sessionId}-${updates.length}`
  const body = {
    ...(what.title === undefined ? {} : { title: what.title === 'own' ? `Title ${mark}` : '' }),
    ...(what.metadata === true ? { metadata: { mark, list: [1, null, { deep: true }] } } : {}),
    ...(what.rules === undefined
      ? {}
      : { permissions: [{ action: 'mark', resource: mark, effect: 'deny' }, ...RULES[what.rules]] }),
  }
  const asked = asking()
  updates.push({ asked, ...body })
  session.expect(204, await session.send('PATCH', '', body, asked))
}

/** Reports that the end of the last run was seen. */
export async function view(session: SessionClient): Promise<void> {
  const { body } = await session.send('GET', '')
  const idle = (body as { data?: Info } | undefined)?.data?.time.idle
  if (idle !== undefined) session.expect(204, await session.send('POST', '/view', { idle }))
}

/** Withdraws what the session's `always` answers have allowed. */
export async function forget(session: SessionClient): Promise<void> {
  for (const { id, resource } of await approvals(session)) {
    const asked = asking()
    session.history.forgotten.push({ asked, resource })
    const answer = await session.client.insist('DELETE', `/api/permission/saved/${id}`, undefined, asked)
    if (answer.asked.status !== 204) session.wrong('an approval taken back', asked, answer.body)
  }
}

/** What `always` answers in the session have allowed so far. */
export async function approvals(session: SessionClient): Promise<{ id: string; resource: string }[]> {
  const { asked, body } = await session.client.insist('GET', '/api/permission/saved')
  if (asked.status !== 200) session.wrong('saved approvals', asked, body)
  const all = (body as { data?: { id: string; resource: string }[] } | undefined)?.data ?? []
  return all.filter(({ resource }) => resource.includes(session.history.calls))
}
