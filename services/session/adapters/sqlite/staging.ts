import type { Message } from '#gen/portico/session/v1/message_pb.js'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import type { CreateSession } from '#services/session/domain/new-session.ts'
import {
  type SessionStaging,
  STAGED_MS,
  type StagedKind,
  type StagedSession,
  type StagedSource,
} from '#services/session/ports/session-staging.ts'
import { sessionNotFound } from '#services/session/ports/session-store.ts'
import { messageExists, sessionExists, stagingOver } from '../common/refusals.ts'
import { activityOfStaged, activityRecord } from '../tables/activity.ts'
import { newSessionRecord } from '../tables/sessions.ts'
import type { HiddenRow } from './hidden-sessions.ts'
import { readState } from './reads.ts'
import { type MessageRecords, messageRecords, saveActivity, saveMessage, saveNewSession } from './save.ts'
import type { StoreParts } from './store-parts.ts'
import { claimId } from './taken-ids.ts'

/** See SessionStaging. The key of a staged session is its number. */
export class SqliteStaging implements SessionStaging {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  stageSession(workspace: string, sessionId: string, kind: StagedKind, source?: StagedSource): Promise<StagedSession> {
    const { file, hidden, clock } = this.#parts
    return file.write(() => {
      if (readState(file, workspace, sessionId) !== undefined) throw sessionExists({ sessionId })
      const { lastSeq, isHidden } = hidden.earlier(workspace, sessionId)
      if (isHidden) hidden.giveUpId(workspace, sessionId)
      const number = hidden.next()
      const unused = { tools: undefined, above: undefined }
      hidden.add(number, { workspace, sessionId, kind, seq: lastSeq, until: clock.now() + STAGED_MS, ...unused })
      return { workspace, sessionId, key: String(number), source }
    })
  }

  appendStaged(staged: StagedSession, messages: readonly Message[]): Promise<void> {
    const { file, hidden, clock } = this.#parts
    const { workspace, sessionId: id, source } = staged
    // In a turn before that of the job: to make the records of what is large takes as long as to write them.
    const records = messages.map((message) => messageRecords(workspace, id, { type: 'insert', seq: 0, message }))
    return file.write(() => {
      const { number, seq, kind } = this.#find(staged)
      if (source !== undefined) {
        const state = readState(file, workspace, source.sessionId)
        if (String(state?.number) !== source.incarnation) throw sessionNotFound(source.sessionId)
      }
      for (const [i, message] of messages.entries()) {
        if (claimId(file, hidden, workspace, message.messageId) !== undefined) throw messageExists(message.messageId)
        const { message: record, parts } = records[i] as MessageRecords
        saveMessage(file, number, { message: { ...record, seq: seq + 1 + i }, parts })
        const activity = activityOfStaged(kind, message)
        if (activity !== undefined)
          saveActivity(file, number, activityRecord(workspace, id, { seq: seq + 1, activity }))
      }
      hidden.keep(number, seq + messages.length, clock.now() + STAGED_MS)
    })
  }

  async commitStaged(staged: StagedSession, create: CreateSession): Promise<Session> {
    const { file, log, hidden, clock, newId } = this.#parts
    const { workspace } = staged
    const committed = await file.write(() => {
      const { number, seq } = this.#find(staged)
      const { session, revision } = create(clock.now(), newId, seq)
      const { parentId } = session
      if (parentId !== undefined && readState(file, workspace, parentId) === undefined) {
        throw sessionNotFound(parentId)
      }
      const record = newSessionRecord(workspace, session, revision.state)
      saveNewSession(this.#parts, number, record, revision)
      hidden.delete(number)
      return session
    })
    log.wake(workspace)
    return committed
  }

  giveUpStaged(staged: StagedSession): Promise<void> {
    const { file, hidden } = this.#parts
    return file.write(() => hidden.giveUp(staged))
  }

  #find(staged: StagedSession): HiddenRow {
    const { file, hidden, clock } = this.#parts
    const { workspace, sessionId } = staged
    if (readState(file, workspace, sessionId) !== undefined) throw sessionExists({ sessionId })
    const now = clock.now()
    const row = hidden.staged(staged, now)
    if (row !== undefined) return row
    throw hidden.hasStaged(workspace, sessionId, now) ? sessionExists({ sessionId }) : stagingOver()
  }
}
