import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { type SessionLocation, SessionLocationSchema } from '#gen/portico/session/v1/session_pb.js'
import { MoveSessionRequestSchema, type SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { type AnyReason, Rejection } from '#shared/rejection.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import { moveSession as decideMove } from '../domain/inbox/move-session.ts'
import type { TakenId } from '../domain/inbox.ts'
import type { SessionState } from '../domain/session-state.ts'
import type { Catalog } from '../ports/catalog.ts'
import type { PeerCall } from '../ports/peer-call.ts'
import { checkAdmitted, digestOf, parseDelivery } from './admission.ts'
import type { SessionDependencies } from './dependencies.ts'
import { parseMessageId } from './parse.ts'
import { peerCallOf } from './peer-call.ts'

const checkRequest = checkLimits(MoveSessionRequestSchema)

export function moveHandlers(dependencies: SessionDependencies) {
  const { store, catalog } = dependencies
  return {
    /** Admits a move of the session; where its own directory cannot be used and it is at rest, it moves at once. */
    async moveSession(request, context) {
      const call = peerCallOf(context)
      const { principal: admitter } = call
      const id = parseMessageId(request.messageId)
      const delivery = parseDelivery(request.delivery)
      checkRequest(request)
      const { directory } = request
      check(directory.trim() !== '', 'directory', 'must not be blank')
      const key = { workspace: admitter.workspaceId, sessionId: request.sessionId }
      const { from, known: isRepeat } = await store.inspect(
        key,
        (reads) => reads.takenId(id),
        ({ state }, taken) => ({ from: state.directory, known: knownMove(state, taken) }),
      )
      const move = isRepeat ?? (await destination(catalog, call, directory, from))
      const stranded = isRepeat === undefined && move.directory !== from && !(await isUsable(catalog, call, from))
      const digest = digestOf([directory, delivery])
      await store.revise(
        key,
        (reads) => reads.moveReads(id),
        (revision, reads) => {
          const payload = { case: 'move', value: move } as const
          const admission = { id, payload, delivery, digest, admitter, wake: true }
          checkAdmitted(decideMove(revision, reads, admission, stranded), request.sessionId, id)
        },
      )
      return {}
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>
}

/** The destination of a move whose id is sent again: a relative directory may mean another one by now. */
function knownMove(
  { sessionId, directory, projectId, subpath }: SessionState,
  taken: TakenId | undefined,
): SessionLocation | undefined {
  if (taken?.sessionId !== sessionId) return undefined
  // It moved at once.
  if (taken.input === undefined) return create(SessionLocationSchema, { directory, projectId, subpath })
  const { payload } = taken.input.item
  return payload.case === 'move' ? payload.value : undefined
}

/** What is wrong with a destination, without revealing whether one outside of the workspace's roots exists. */
const PROBLEMS: Readonly<Partial<Record<AnyReason, string>>> = {
  LOCATION_NOT_FOUND: 'Directory does not exist',
  LOCATION_INVALID: 'Not a directory',
  LOCATION_FORBIDDEN: 'Directory is unavailable',
}

async function destination(
  catalog: Catalog,
  call: PeerCall,
  directory: string,
  from: string,
): Promise<SessionLocation> {
  try {
    return await catalog.resolveLocation(call, directory, from)
  } catch (error) {
    const problem = error instanceof Rejection ? PROBLEMS[error.reason] : undefined
    if (problem === undefined) throw error
    throw new Rejection('DESTINATION_INVALID', { directory: directory.trim(), problem }, { cause: error })
  }
}

async function isUsable(catalog: Catalog, call: PeerCall, directory: string): Promise<boolean> {
  try {
    await catalog.resolveLocation(call, directory)
    return true
  } catch (error) {
    if (error instanceof Rejection && PROBLEMS[error.reason] !== undefined) return false
    throw error
  }
}
