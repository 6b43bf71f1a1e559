import type { WireEvent } from '../follow.ts'

/** The log of a removed session ends with one event, which says just that. */
export function judgeRemoval(sessionId: string, events: readonly WireEvent[]): string[] {
  const deleted = events.filter(({ type }) => type === 'session.deleted')
  const [event] = deleted
  if (event === undefined || deleted.length > 1) return [`${sessionId} was removed with ${deleted.length} events`]
  if (Object.keys(event.data).join() !== 'sessionID') return [`a removal says ${JSON.stringify(event.data)}`]
  const last = events.at(-1)
  return last === event ? [] : [`${sessionId} was removed, and then came ${last?.type}`]
}
