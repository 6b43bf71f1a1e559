import { setTimeout as sleep } from 'node:timers/promises'
import type { WireMessage } from '#test/support/instance-client.ts'
import { linesOf } from '#test/support/lines-of.ts'
import { approvals } from './changes.ts'
import { RULES } from './commands.ts'
import type { WireEvent } from './follow.ts'
import type { Info } from './history.ts'
import type { Evidence } from './judge/evidence.ts'
import { messagesOf, readLog, TYPES } from './looks.ts'
import type { SessionClient } from './session-client.ts'
import type { World } from './world.ts'

/** How long events may take to arrive, and titles to be generated. */
const REST_MS = 300_000

/**
 * Everything that is known of a finished session, once nothing more is written; undefined: it does not come to rest.
 */
export async function gather(
  session: SessionClient,
  world: World,
  messages: readonly WireMessage[],
): Promise<Evidence | undefined> {
  const { history } = session
  const { sessionId } = history
  const still = await atRest(session)
  if (still === undefined) return undefined
  const last = still.events.at(-1)?.durable.seq ?? 0
  const arrived = () => world.follower.of(sessionId).at(-1)?.durable.seq ?? 0
  for (const since = Date.now(); arrived() < last && Date.now() - since < REST_MS; ) await sleep(20)
  // A title may have been generated since.
  const seen = world.follower.of(sessionId).filter(({ durable }) => durable.seq <= last)
  const typed = new Map<string, readonly WireMessage[]>()
  for (const type of TYPES) typed.set(type, await messagesOf(session, type))
  return {
    history,
    messages,
    typed,
    ...still,
    seen,
    approvals: (await approvals(session)).map(({ resource }) => resource),

    lines: linesOf(history.calls),
    home: world.places.home,
    first: RULES.strict,
    takenOver: world.takenOver,
    clockMs: world.clockMs,
  }
}

/** The session and its log, with no write in between. */
async function atRest(
  session: SessionClient,
): Promise<{ readonly info: Info; readonly events: WireEvent[] } | undefined> {
  for (const since = Date.now(); Date.now() - since < REST_MS; await sleep(20)) {
    const events = await readLog(session, 0)
    const { body } = await session.insist('GET', '')
    const again = await readLog(session, 0)
    const { data: info } = (body ?? {}) as { data?: Info }
    if (info !== undefined && events !== undefined && events.length > 0 && events.length === again?.length)
      return { info, events }
  }
  return undefined
}
