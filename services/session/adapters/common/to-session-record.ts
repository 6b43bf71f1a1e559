import type { StateChanges } from '#services/session/domain/revision.ts'
import type { Session } from '#services/session/domain/session.ts'
import type { SessionState } from '#services/session/domain/session-state.ts'
import { titleRecord } from './description-record.ts'
import type { SessionRecord, StateRecord } from './session-record.ts'

/** The complete record of a new session, in the state after its creation. */
export function newSessionRecord(workspace: string, session: Session, state: SessionState): SessionRecord {
  const { title, titleSearch } = titleRecord(session.title)
  return {
    workspace,
    id: state.id,
    parentId: session.parentId ?? null,
    fork: toJson(session.fork),
    title,
    titleSearch,
    agent: state.agent ?? null,
    model: toJson(state.model),
    directory: state.directory,
    projectId: state.projectId,
    subpath: state.subpath,
    metadata: toJson(session.metadata),
    permissions: toJson(session.permissions),
    costNanos: state.costNanos.toString(),
    tokens: JSON.stringify(state.tokens),
    outcome: state.outcome ?? null,
    timeCreated: session.timeCreated,
    timeUpdated: state.timeUpdated,
    timeIdle: state.timeIdle ?? null,
    timeViewed: state.timeViewed ?? null,
    timeArchived: session.timeArchived ?? null,
    titling: state.titling ?? null,
    seq: state.seq,
    due: toBit(state.due),
    wake: toJson(state.wake),
    running: toBit(state.running),
    interruptRequested: toBit(state.interruptRequested),
    lastAdmitter: toJson(state.lastAdmitter),
    fence: state.fence,
    attempts: state.acquisitions,
    leaseOwner: null,
    leaseUntil: state.leaseUntil,
    claimableAt: state.claimableAt ?? null,
  }
}

/** Changed fields of a state, as they are stored. */
export function toStateChanges({ acquisitions, ...changes }: StateChanges): Partial<StateRecord> {
  const record: Record<string, string | number | null> = acquisitions === undefined ? {} : { attempts: acquisitions }
  for (const key of Object.keys(changes) as (keyof typeof changes)[]) {
    const value = changes[key]
    if (typeof value === 'boolean') record[key] = toBit(value)
    else if (typeof value === 'bigint') record[key] = value.toString()
    else record[key] = typeof value === 'object' ? JSON.stringify(value) : (value ?? null)
  }
  return record
}

function toBit(value: boolean): 0 | 1 {
  return value ? 1 : 0
}

function toJson(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value)
}
