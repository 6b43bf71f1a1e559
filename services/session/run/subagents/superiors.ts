import type { PermissionRule } from '#services/session/domain/permission/permission.ts'
import type { Session } from '#services/session/domain/session.ts'
import type { Superior } from '#services/session/domain/subagent/rules-above.ts'
import { Rejection } from '#shared/rejection.ts'
import { type RunContext, RunFailure, runCall } from '../run-context.ts'

/** What a session may that runs as an agent of which nobody knows the rules: nothing without a question. */
const UNKNOWN: readonly PermissionRule[] = [{ action: '*', resource: '*', effect: 'ask' }]

/**
 * The sessions above that of a run, nearest first, with the rules that hold for them now: who changes these binds what runs
 * below from its next step on. Throws RunFailure when one of them was removed: this one is, too.
 */
export async function readSuperiors(
  run: RunContext,
  ask: <T>(question: () => Promise<T>) => Promise<T>,
): Promise<readonly Superior[]> {
  const above: Session[] = []
  for (let id = run.session.parentId; id !== undefined; id = above.at(-1)?.parentId) {
    const found = await run.store.getSession(run.tenure.lease.workspace, id)
    if (found === undefined) {
      throw new RunFailure({ type: 'session.parent_removed', message: `The session above was removed: ${id}` })
    }
    above.push(found)
  }
  return Promise.all(above.map((session) => ask(() => readSuperior(run, session))))
}

async function readSuperior({ catalog, ...run }: RunContext, session: Session): Promise<Superior> {
  const { agent, permissions = [], location } = session
  try {
    const found = await catalog.getAgent(runCall({ catalog, ...run }), location.directory, agent)
    return { agentId: found.agent.id, agent: found.agent.permissions, session: permissions }
  } catch (error) {
    if (!(error instanceof Rejection) || !UNUSABLE.test(error.reason)) throw error
    return { agentId: agent ?? '', agent: UNKNOWN, session: permissions }
  }
}

/** The agent is there no more, or the directory that it comes from. */
const UNUSABLE = /^(AGENT_NOT_FOUND|LOCATION_(NOT_FOUND|FORBIDDEN|INVALID))$/
