import { create } from '@bufbuild/protobuf'
import { type SessionLocation, SessionLocationSchema } from '#gen/portico/session/v1/session_pb.js'
import type { Admission, AdmissionReads, InboxEntry, Payload } from '../inbox.ts'
import { messageOf, type StoredMessage } from '../message.ts'
import type { Revision } from '../revision.ts'
import { isBusy } from '../session-state.ts'
import { cancelItem } from './inbox-changes.ts'
import { admit, type NotAdmitted } from './inputs.ts'
import { wake } from './wake.ts'

/** What a move depends on, besides the state of the session. */
export interface MoveReads extends AdmissionReads {
  readonly moves: readonly InboxEntry[]
}

/**
 * Requests that a session move: puts a move into the inbox and makes the session due. A session at rest whose directory
 * cannot be used (`stranded`) moves at once; older waiting moves are cancelled, and all other waiting items are due in
 * the new location. The same id again changes nothing. Undefined: it is admitted, or has moved.
 */
export function moveSession(
  revision: Revision,
  { taken, full, moves }: MoveReads,
  admission: Admission<Extract<Payload, { readonly case: 'move' }>>,
  stranded: boolean,
): NotAdmitted | undefined {
  const { id, payload } = admission
  // Nobody else makes ids of moves.
  if (taken?.sessionId === revision.state.sessionId && taken.input === undefined) return undefined
  if (taken !== undefined || !stranded || isBusy(revision.state, revision.leaseNow)) {
    const admitted = admit(revision, { taken, full }, admission)
    return typeof admitted === 'string' ? admitted : undefined
  }
  for (const move of moves) cancelItem(revision, move)
  switchLocation(revision, id, payload.value)
  wake(revision)
  return undefined
}

/** Changes the session's location, with a message of that id and an event. */
export function switchLocation(revision: Revision, id: string, location: SessionLocation): StoredMessage {
  const { directory, projectId, subpath } = revision.state
  const previous = create(SessionLocationSchema, { directory, projectId, subpath })
  const head = { messageId: id, createTime: revision.now }
  const message = messageOf(head, 'locationSwitched', { location, previous })
  const seq = revision.insert(message)
  revision.set({ directory: location.directory, projectId: location.projectId, subpath: location.subpath })
  revision.event({ case: 'sessionMoved', value: { location } })
  revision.touch()
  return { seq, message }
}
