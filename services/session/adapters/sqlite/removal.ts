import { ALL_CHANGES } from '#services/session/domain/change.ts'
import { deletedEvent, leftTools } from '#services/session/domain/lifetime/removal.ts'
import type { Removal, SessionRemoval } from '#services/session/ports/session-removal.ts'
import { sessionNotFound } from '#services/session/ports/session-store.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { type Below, MOST_BELOW, readBelow } from '../common/read-below.ts'
import { eventRecord } from '../tables/events.ts'
import { emptySession } from './empty-session.ts'
import { readRemoved } from './reads.ts'
import type { StoreParts } from './store-parts.ts'

/** See SessionRemoval. The key of a removal is the session's number. */
export class SqliteRemoval implements SessionRemoval {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  async removeSession(workspace: string, sessionId: string): Promise<Removal> {
    const { file } = this.#parts
    const removed = await file.write(() => {
      const ancestors = ancestorsOf(file, workspace, sessionId)
      const rest = childrenOf(file, workspace, sessionId, 1).length > 0
      return this.#remove(workspace, sessionId, ancestors, rest)
    })
    this.#announce(workspace, [removed])
    return removed
  }

  async removeBelow({ workspace, sessionId, key }: Removal): Promise<readonly Removal[]> {
    const { file, hidden } = this.#parts
    const removed = await file.write(() => {
      const ancestors = hidden.ancestors(Number(key))
      if (ancestors === undefined) return []
      const sessions = allBelow(file, workspace, sessionId, ancestors)
      if (sessions.length === 0) hidden.endBelow(Number(key))
      return sessions.map(({ session, ancestors }) => this.#remove(workspace, session.sessionId, ancestors, false))
    })
    this.#announce(workspace, removed)
    return removed
  }

  async takeRemoval(durationMs: number): Promise<Removal | undefined> {
    const { file, hidden, clock } = this.#parts
    if (!hidden.mayTake(clock.now())) return undefined
    return file.write(() => hidden.take(clock.now(), clock.now() + durationMs))
  }

  continueRemoval({ key }: Removal, durationMs: number): Promise<boolean> {
    const { file, hidden, clock } = this.#parts
    return file.write(() => {
      hidden.keep(Number(key), 0, clock.now() + durationMs)
      return emptySession(file, Number(key))
    })
  }

  async endRemoval({ key }: Removal): Promise<void> {
    const { file, hidden } = this.#parts
    await file.write(() => hidden.delete(Number(key)))
    hidden.forget(Number(key))
  }

  #remove(workspace: string, id: string, ancestors: readonly string[], hasBelow: boolean): Removal {
    const { file, log, hidden, clock, newId } = this.#parts
    const removal = readRemoved(file, workspace, id)
    if (removal === undefined) throw sessionNotFound(id)
    const { number, state } = removal
    const tools = leftTools(state)
    file.statement('DELETE FROM sessions WHERE number = ?').run(number)
    file.statement('DELETE FROM requests WHERE workspace = ? AND sessionId = ? AND reply IS NULL').run(workspace, id)
    const above = hasBelow ? ancestors : undefined
    hidden.add(number, { workspace, sessionId: id, kind: 'removal', seq: state.seq, tools, above, until: 0 })
    log.append([eventRecord(workspace, deletedEvent(state, ancestors, clock.now(), newId))], null)
    return { workspace, sessionId: id, tools, key: String(number) }
  }

  /** Says what was committed. */
  #announce(workspace: string, removed: readonly Removal[]): void {
    const { log, hidden, changes } = this.#parts
    hidden.removed(removed.map(({ key }) => Number(key)))
    for (const { sessionId } of removed) changes.notify(workspace, sessionId, ALL_CHANGES)
    if (removed.length > 0) log.wake(workspace)
  }
}

/** Some sessions below one, children before their parents. */
function allBelow(
  file: SqliteFile,
  workspace: string,
  id: string,
  ancestors: readonly string[],
): readonly Below<Child>[] {
  const reading = readBelow<Child>(id, ancestors)
  let step = reading.next()
  while (!step.done) step = reading.next(childrenOf(file, workspace, step.value, MOST_BELOW))
  return step.value
}

interface Child {
  readonly sessionId: string
}

function childrenOf(file: SqliteFile, workspace: string, id: string, limit: number): Child[] {
  const sql = 'SELECT sessionId FROM sessions WHERE workspace = ? AND parentId = ? LIMIT ?'
  return file.statement(sql).all(workspace, id, limit) as unknown as Child[]
}

/** The ancestors of a session, nearest first. */
function ancestorsOf(file: SqliteFile, workspace: string, sessionId: string): string[] {
  const ancestors: string[] = []
  const sql = 'SELECT parentId FROM sessions WHERE workspace = ? AND sessionId = ?'
  const parentOf = (id: string) => file.statement(sql).get(workspace, id)?.parentId as string | null | undefined
  for (let id = parentOf(sessionId); id != null; id = parentOf(id)) ancestors.push(id)
  return ancestors
}
