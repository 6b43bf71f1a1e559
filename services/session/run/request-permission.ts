import type { PreparedCall, ToolAccess } from '../domain/agent.ts'
import type { StructuredError } from '../domain/message.ts'
import { CORRECTED, REJECTED } from '../domain/next-action.ts'
import type { PermissionAnswer, PermissionRequest } from '../domain/permission/permission.ts'
import { isApproved, type Judgement, judgeAccess } from '../domain/permission/permission-rules.ts'
import type { RunContext } from './run-context.ts'
import type { StepPlan } from './step-plan.ts'

const DENIED: StructuredError = { type: 'permission.denied', message: 'The permission rules do not allow this call' }
const UNANSWERED: StructuredError = {
  type: 'permission.timeout',
  message: 'Permission was requested, but nobody answered in time; the call was not run',
}
const REFUSED: StructuredError = { type: REJECTED, message: 'The user refused the call' }

/**
 * Sees to it that a tool call may run: evaluates the rules (instance facts 3.13), and where they say so
 * asks, one access after the other. Returns why it must not run, or undefined when it may.
 */
export async function requestPermission(
  run: RunContext,
  plan: StepPlan,
  messageId: string,
  callId: string,
  { accesses, savePatterns }: PreparedCall,
  signal: AbortSignal,
): Promise<StructuredError | undefined> {
  const rules = { agent: plan.agent.permissions, session: run.session.permissions ?? [] }
  const judged = accesses.map((access) => ({ access, judgement: judgeAccess(rules, access) }))
  if (judged.some(({ judgement }) => judgement.effect === 'deny')) return DENIED
  for (const { access, judgement } of judged) {
    if (judgement.effect === 'allow' || (await isSaved(run, access, judgement))) continue
    const refused = await ask(run, { messageId, callId, access, judgement, savePatterns }, signal)
    if (refused !== undefined) return refused
  }
  return undefined
}

/** Whether an earlier answer holds for this access, too. */
async function isSaved(
  { store, tenure, session }: RunContext,
  access: ToolAccess,
  judgement: Judgement,
): Promise<boolean> {
  const approvals = await store.savedApprovals(tenure.lease.workspace, session.location.projectId)
  return isApproved(approvals, access, judgement)
}

interface Question {
  readonly messageId: string
  readonly callId: string
  readonly access: ToolAccess
  readonly judgement: Judgement
  readonly savePatterns: readonly string[]
}

async function ask(
  run: RunContext,
  { messageId, callId, access, judgement, savePatterns }: Question,
  signal: AbortSignal,
): Promise<StructuredError | undefined> {
  const { owned, clock, newId, session, permissionTimeoutMs } = run
  const now = clock.now()
  const request: PermissionRequest = {
    ...{ id: newId('per'), sessionId: session.id, messageId, callId, savePatterns },
    ...{ action: access.action, resources: access.resources },
    ...{ timeCreated: now, timeExpires: now + permissionTimeoutMs },
  }
  await owned.askPermission(request)
  const answer = await run.slot.rest(() => waitForAnswer(run, request, () => isSaved(run, access, judgement), signal))
  if (answer === undefined) return UNANSWERED
  if (answer.reply !== 'reject') return undefined
  return answer.message === '' ? REFUSED : { type: CORRECTED, message: `The user refused the call: ${answer.message}` }
}

/** The answer; undefined when nobody gave one in time. An `always` to another request may answer this one too. */
async function waitForAnswer(
  run: RunContext,
  { id, timeCreated, timeExpires }: PermissionRequest,
  isSavedNow: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<PermissionAnswer | undefined> {
  const { owned, tenure, watchers } = run
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), timeExpires - timeCreated)
  try {
    return await watchers.until(tenure.lease, 'permission', AbortSignal.any([signal, late.signal]), async () => {
      const answer = await owned.permissionAnswer(id)
      if (answer !== undefined) return answer
      if (!(await isSavedNow())) return undefined
      await owned.closePermission(id, 'always')
      return owned.permissionAnswer(id)
    })
  } catch (error) {
    if (!late.signal.aborted || signal.aborted) throw error
  } finally {
    clearTimeout(timer)
  }
  // An answer that came at the last moment counts.
  return (await owned.closePermission(id, 'reject')) ? undefined : owned.permissionAnswer(id)
}
