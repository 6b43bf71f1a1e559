import { eventRecord } from '#services/session/adapters/common/event-record.ts'
import { sessionNotFound } from '#services/session/adapters/common/refusals.ts'
import { ALL_CHANGES } from '#services/session/domain/change.ts'
import { deletedEvent, leftTools } from '#services/session/domain/lifetime/removal.ts'
import type { SessionState } from '#services/session/domain/session-state.ts'
import type { Removal, SessionRemoval } from '#services/session/ports/session-removal.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { readState } from '../reads.ts'
import type { StoreParts } from '../store-parts.ts'
import { emptySession } from './empty-session.ts'

interface Found {
  readonly number: number
  readonly state: SessionState
}

/** See SessionRemoval. The key of a removal is the session's number. */
export class SqliteRemoval implements SessionRemoval {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  async removeSession(workspace: string, sessionId: string): Promise<readonly Removal[]> {
    const { file, log, hidden, changes } = this.#parts
    const removed = await file.write(() => {
      const found = readFamily(file, workspace, sessionId)
      for (const one of found) this.#remove(workspace, one)
      return found
    })
    hidden.removed(removed.map(({ number }) => number))
    for (const { state } of removed) changes.notify(workspace, state.id, ALL_CHANGES)
    log.wake(workspace)
    return removed.map(({ number, state }) => {
      return { workspace, sessionId: state.id, tools: leftTools(state), key: String(number) }
    })
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

  #remove(workspace: string, { number, state }: Found): void {
    const { file, log, hidden, clock, newId } = this.#parts
    const { id, seq } = state
    file.statement('DELETE FROM sessions WHERE number = ?').run(number)
    file.statement('DELETE FROM requests WHERE workspace = ? AND sessionId = ? AND reply IS NULL').run(workspace, id)
    hidden.add({ number, workspace, id, kind: 'removal', seq, tools: leftTools(state), until: 0 })
    log.append(eventRecord(workspace, id, deletedEvent(state, clock.now(), newId)), null)
  }
}

/** A session and all below it, children before their parents. */
function readFamily(file: SqliteFile, workspace: string, sessionId: string): Found[] {
  const found: Found[] = []
  const waiting = [sessionId]
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const session = readState(file, workspace, id)
    if (session === undefined) throw sessionNotFound({ sessionId: id })
    found.push(session)
    const children = file.statement('SELECT id FROM sessions WHERE workspace = ? AND parentId = ?').all(workspace, id)
    for (const child of children) waiting.push(child.id as string)
  }
  return found.reverse()
}
