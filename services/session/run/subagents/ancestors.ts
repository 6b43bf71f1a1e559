import { create } from '@bufbuild/protobuf'
import { PermissionRule_Effect as Effect, PermissionRuleSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import { structuredError } from '#services/session/domain/structured-error.ts'
import type { Ancestor } from '#services/session/domain/subagent/ancestor-rules.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import type { PeerCall } from '#services/session/ports/peer-call.ts'
import { Rejection } from '#shared/rejection.ts'
import type { RunContext } from '../run-context.ts'
import { RunFailure } from '../run-context.ts'

/** The rules of a session whose agent's rules are unknown: everything needs permission. */
const UNKNOWN = [create(PermissionRuleSchema, { action: '*', resource: '*', effect: Effect.ASK })]

/**
 * A session and its ancestors, nearest first, with their current rules, so that changes apply to the next step of
 * sessions below. A root has no ancestors (`first` is undefined). Throws RunFailure if one of them was removed, since
 * the sessions below it are removed, too.
 */
export async function readAncestors(
  { store, catalog }: Pick<RunContext, 'store' | 'catalog'>,
  call: PeerCall,
  first: string | undefined,
  callPeer: <T>(call: () => Promise<T>) => Promise<T>,
): Promise<readonly Ancestor[]> {
  const ancestors: Session[] = []
  for (let id = first; id !== undefined; id = ancestors.at(-1)?.parentId) {
    const parent = await store.getSession(call.principal.workspaceId, id)
    if (parent === undefined) {
      throw new RunFailure(structuredError('session.parent_removed', `The parent session was removed: ${id}`))
    }
    ancestors.push(parent)
  }
  return Promise.all(ancestors.map((session) => callPeer(() => readAncestor(catalog, call, session))))
}

async function readAncestor(catalog: Catalog, call: PeerCall, session: Session): Promise<Ancestor> {
  const { agent, directory } = session
  const own = session.permissions?.rules ?? []
  try {
    const definition = (await catalog.getAgent(call, directory, agent)).agent
    return { agentId: definition.agentId, agent: definition.permissions, session: own }
  } catch (error) {
    if (!(error instanceof Rejection) || !UNUSABLE.test(error.reason)) throw error
    return { agentId: agent ?? '', agent: UNKNOWN, session: own }
  }
}

/** The agent, or the directory that it comes from, no longer exists. */
const UNUSABLE = /^(AGENT_NOT_FOUND|LOCATION_(NOT_FOUND|FORBIDDEN|INVALID))$/
