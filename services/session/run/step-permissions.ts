import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { PermissionRule_Effect as Effect, type PermissionRule } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { PrepareToolResponse } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { PermissionReply, type PermissionRequest, PermissionRequestSchema } from '#gen/portico/session/v1/session_pb.js'
import { Places } from '#shared/places.ts'
import { type PermissionAnswer, refusalOf, UNANSWERED } from '../domain/permission/permission-requests.ts'
import { isApproved, judgeAccess } from '../domain/permission/permission-rules.ts'
import { structuredError } from '../domain/structured-error.ts'
import type { RunContext } from './run-context.ts'
import type { SharedWatch } from './shared-watch.ts'
import type { StepPlan } from './step-plan.ts'

const DENIED = structuredError('permission.denied', 'The permission rules do not allow this call')

/**
 * How many requests of a step are written or read at once: a thousand calls must not crowd out other users of the
 * store.
 */
const REQUESTS_AT_ONCE = 16

/** Read once for all calls of a step that wait for an answer. */
interface Seen {
  /** Ids of the session's requests that nobody has answered. */
  readonly waiting: ReadonlySet<string>
  readonly approvals: readonly PermissionRule[]
}

/** Requests the permissions that the tool calls of one step need. */
export class StepPermissions {
  readonly #run: RunContext
  readonly #plan: StepPlan
  readonly #messageId: string
  readonly #places = new Places(REQUESTS_AT_ONCE)
  readonly #seen: SharedWatch<Seen>
  readonly #requested = new Set<string>()

  constructor(run: RunContext, plan: StepPlan, messageId: string) {
    this.#run = run
    this.#plan = plan
    this.#messageId = messageId
    this.#seen = run.watchers.share('permission', async () => ({
      waiting: await run.owned.waitingRequests(),
      approvals: await this.#approvals(),
    }))
  }

  /** Ids of the calls for which permission was requested. */
  get requested(): ReadonlySet<string> {
    return this.#requested
  }

  /**
   * Decides whether a tool call may run: evaluates the rules and, if they demand it, requests permission for one access
   * after the other. Returns why the call must not run, or undefined if it may.
   */
  async request(
    callId: string,
    { accesses, savePatterns }: Pick<PrepareToolResponse, 'accesses' | 'savePatterns'>,
    signal: AbortSignal,
  ): Promise<StructuredError | undefined> {
    const judged = accesses.map((access) => ({ access, judgement: judgeAccess(this.#plan.rules, access) }))
    if (judged.some(({ judgement }) => judgement.effect === Effect.DENY)) return DENIED
    for (const { access, judgement } of judged) {
      if (judgement.effect === Effect.ALLOW) continue
      const isSaved = (approvals: readonly PermissionRule[]) => isApproved(approvals, access, judgement)
      const { action, resources } = access
      const what = { callId, savePatterns, action, resources }
      const saved = await this.#inTurn(signal, () => this.#approvals())
      const refused = isSaved(saved) ? undefined : await this.#requestPermission(what, isSaved, signal)
      if (refused !== undefined) return refused
    }
    return undefined
  }

  /** What earlier `always` answers allow in the project. */
  #approvals(): Promise<readonly PermissionRule[]> {
    const { store, tenure, session } = this.#run
    return store.savedApprovals(tenure.lease.workspace, session.projectId)
  }

  async #requestPermission(
    what: MessageInitShape<typeof PermissionRequestSchema>,
    isSaved: (approvals: readonly PermissionRule[]) => boolean,
    signal: AbortSignal,
  ): Promise<StructuredError | undefined> {
    const { owned, clock, newId, session, slot, permissionTimeoutMs } = this.#run
    const request = await this.#inTurn(signal, async () => {
      const now = clock.now()
      const request = create(PermissionRequestSchema, {
        ...what,
        requestId: newId('per'),
        sessionId: session.sessionId,
        messageId: this.#messageId,
        createTime: now,
        expireTime: now + permissionTimeoutMs,
      })
      this.#requested.add(request.callId)
      await owned.requestPermission(request)
      return request
    })
    const answer = await slot.rest(() => this.#waitForAnswer(request, isSaved, signal))
    return answer === undefined ? UNANSWERED : refusalOf(answer)
  }

  /** The answer; undefined when nobody gave one in time. An `always` to another request may answer this one too. */
  async #waitForAnswer(
    { requestId: id, createTime, expireTime }: PermissionRequest,
    isSaved: (approvals: readonly PermissionRule[]) => boolean,
    signal: AbortSignal,
  ): Promise<PermissionAnswer | undefined> {
    const { owned, tenure } = this.#run
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), expireTime - createTime)
    const either = AbortSignal.any([signal, late.signal])
    try {
      return await this.#seen.until(tenure.lease, either, ({ waiting, approvals }) => {
        if (!waiting.has(id)) return this.#inTurn(either, () => owned.permissionAnswer(id))
        if (!isSaved(approvals)) return undefined
        return this.#inTurn(either, async () => {
          await owned.closePermission(id, PermissionReply.ALWAYS)
          return owned.permissionAnswer(id)
        })
      })
    } catch (error) {
      if (!late.signal.aborted || signal.aborted) throw error
    } finally {
      clearTimeout(timer)
    }
    // An answer that arrived at the last moment counts.
    return this.#inTurn(signal, async () =>
      (await owned.closePermission(id, PermissionReply.REJECT, UNANSWERED.message))
        ? undefined
        : owned.permissionAnswer(id),
    )
  }

  async #inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    using _ = await this.#places.take(signal)
    return await work()
  }
}
