import type { Order } from '#gen/portico/session/v1/session_service_pb.js'
import type { StoredMessage } from '#services/session/domain/message.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { sessionNotFound } from '#services/session/ports/session-store.ts'
import { ownTurn } from '#shared/own-turn.ts'
import { withStoreTime } from '#shared/telemetry/request-scope.ts'

/** How many messages are read at once, unless they exceed `PAGE_BYTES`. */
const PAGE = 100
/** How many bytes are read at once, which takes a few milliseconds. */
export const PAGE_BYTES = 1_048_576

/** Several reads with the same object all read the same session: if another one has the id by then, they reject. */
export interface SameSession {
  /** See MessagePage; undefined: nothing was read yet. */
  incarnation?: string
}

/**
 * All messages of a session beyond a place, in that direction, so few at a time that others have their turns between.
 * Rejects with SESSION_NOT_FOUND, also when another session has its id meanwhile.
 */
export async function* readMessages(
  store: Pick<SessionStore, 'listMessages'>,
  workspace: string,
  sessionId: string,
  order: Order,
  { beyond, same = {} }: { readonly beyond?: number; readonly same?: SameSession } = {},
): AsyncGenerator<StoredMessage> {
  let anchor = beyond === undefined ? undefined : ({ seq: beyond, direction: 'next' } as const)
  for (let limit = PAGE; ; ) {
    const query = { limit, bytes: PAGE_BYTES, order, anchor }
    const page = await withStoreTime(() => store.listMessages(workspace, sessionId, query))
    if (page === undefined) throw sessionNotFound(sessionId)
    same.incarnation ??= page.incarnation
    if (page.incarnation !== same.incarnation) throw sessionNotFound(sessionId)
    // Reading a large message takes as long as processing it.
    await ownTurn()
    yield* page.items
    const last = page.items.at(-1)
    if (!page.more || last === undefined) return
    anchor = { seq: last.seq, direction: 'next' }
    limit = Math.min(PAGE, 2 * page.items.length)
    await ownTurn()
  }
}
