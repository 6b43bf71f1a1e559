import { eventRecord } from '#services/session/adapters/common/event-record.ts'
import { sessionNotFound } from '#services/session/adapters/common/refusals.ts'
import { ALL_CHANGES } from '#services/session/domain/change.ts'
import { deletedEvent, leftTools } from '#services/session/domain/lifetime/removal.ts'
import type { Removal, SessionRemoval } from '#services/session/ports/session-removal.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { readState } from '../reads.ts'
import type { StoreParts } from '../store-parts.ts'
import { emptySession } from './empty-session.ts'

/** So many sessions are removed at once. */
const MOST = 20

/** See SessionRemoval. The key of a removal is the session's number. */
export class SqliteRemoval implements SessionRemoval {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  async removeSession(workspace: string, sessionId: string): Promise<Removal> {
    const { file } = this.#parts
    const removed = await file.write(() => {
      const above = aboveOf(file, workspace, sessionId)
      const rest = childrenOf(file, workspace, sessionId, 1).length > 0
      return this.#remove(workspace, sessionId, above, rest)
    })
    this.#announce(workspace, [removed])
    return removed
  }

  async removeBelow({ workspace, sessionId, key }: Removal): Promise<readonly Removal[]> {
    const { file, hidden } = this.#parts
    const removed = await file.write(() => {
      const above = hidden.above(Number(key))
      if (above === undefined) return []
      const { found } = readBelow(file, workspace, sessionId, above)
      if (found.length === 0) hidden.endBelow(Number(key))
      return found.map(({ id, above }) => this.#remove(workspace, id, above, false))
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

  #remove(workspace: string, id: string, above: string[], hasBelow: boolean): Removal {
    const { file, log, hidden, clock, newId } = this.#parts
    const found = readState(file, workspace, id)
    if (found === undefined) throw sessionNotFound({ sessionId: id })
    const { number, state } = found
    const tools = leftTools(state)
    file.statement('DELETE FROM sessions WHERE number = ?').run(number)
    file.statement('DELETE FROM requests WHERE workspace = ? AND sessionId = ? AND reply IS NULL').run(workspace, id)
    const family = hasBelow ? { above } : {}
    hidden.add({ number, workspace, id, kind: 'removal', seq: state.seq, tools, until: 0, ...family })
    log.append(eventRecord(workspace, id, deletedEvent(state, above, clock.now(), newId)), null)
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

interface Below {
  readonly id: string
  readonly above: string[]
}

/** Some sessions below one, children before their parents; `all`: there are no others. */
function readBelow(
  file: SqliteFile,
  workspace: string,
  parentId: string,
  aboveParent: readonly string[],
  found: Below[] = [],
): { readonly found: readonly Below[]; readonly all: boolean } {
  const above = [parentId, ...aboveParent]
  const children = childrenOf(file, workspace, parentId, MOST)
  for (const id of children) {
    const { all } = readBelow(file, workspace, id, above, found)
    if (!all || found.length >= MOST) return { found, all: false }
    found.push({ id, above })
  }
  return { found, all: children.length < MOST }
}

function childrenOf(file: SqliteFile, workspace: string, id: string, limit: number): string[] {
  const sql = 'SELECT id FROM sessions WHERE workspace = ? AND parentId = ? LIMIT ?'
  return file
    .statement(sql)
    .all(workspace, id, limit)
    .map((row) => row.id as string)
}

/** The sessions that one lies below, nearest first. */
function aboveOf(file: SqliteFile, workspace: string, sessionId: string): string[] {
  const above: string[] = []
  const sql = 'SELECT parentId FROM sessions WHERE workspace = ? AND id = ?'
  const parentOf = (id: string) => file.statement(sql).get(workspace, id)?.parentId as string | null | undefined
  for (let id = parentOf(sessionId); id != null; id = parentOf(id)) above.push(id)
  return above
}
