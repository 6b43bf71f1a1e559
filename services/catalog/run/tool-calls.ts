import { Rejection } from '#shared/rejection.ts'

/** A call that may run. Whoever gets it must settle it. */
export interface AdmittedCall {
  /** Aborts when the caller is gone, a newer fence ends the call, or the service closes. */
  readonly signal: AbortSignal
  /** Nothing of the call is left. `forget`: it was never started, so its id may be used again. */
  settle(forget: boolean): void
}

interface Running {
  readonly fence: bigint
  readonly controller: AbortController
  readonly settled: Promise<void>
}

interface Session {
  fence: bigint
  readonly running: Map<string, Running>
  /** Calls that ended under the present fence, the oldest first. */
  readonly ended: Set<string>
}

const MAX_IDLE_SESSIONS = 10_000
const MAX_ENDED_CALLS = 10_000

/**
 * Ensures that a session's calls run under one fence at a time, and each call at most once. Memory is bounded: the last
 * 10,000 ended calls of a session are remembered until its next fence, and so are the last 10,000 sessions with their
 * fences; running calls are never forgotten.
 */
export class ToolCalls implements AsyncDisposable {
  /** The least recently used first. */
  readonly #sessions = new Map<string, Session>()
  #closed = false

  /**
   * Admits a call: raises the session's fence, and waits until what an older one left running has ended. Rejects with
   * TOOL_FENCED if a newer fence is known, and TOOL_CALL_STARTED if the call was admitted before.
   */
  async begin(workspace: string, sessionId: string, callId: string, fence: bigint): Promise<AdmittedCall> {
    await this.endOlder(workspace, sessionId, fence)
    const session = this.#session(workspace, sessionId)
    if (this.#closed) throw new Rejection('SERVICE_CLOSING')
    if (session.fence > fence) throw new Rejection('TOOL_FENCED')
    session.fence = fence
    if (session.running.has(callId) || session.ended.has(callId))
      throw new Rejection('TOOL_CALL_STARTED', { call_id: callId })
    const controller = new AbortController()
    const { promise, resolve } = Promise.withResolvers<void>()
    session.running.set(callId, { fence, controller, settled: promise })
    return {
      signal: controller.signal,
      settle: (forget) => {
        session.running.delete(callId)
        if (!forget && session.fence === fence) remember(session.ended, callId)
        resolve()
      },
    }
  }

  /**
   * Raises the session's fence and ends its calls under older ones. Resolves with their ids when nothing of them is
   * left. Rejects with TOOL_FENCED if a newer fence is known.
   */
  async endOlder(workspace: string, sessionId: string, fence: bigint): Promise<string[]> {
    const session = this.#session(workspace, sessionId)
    if (session.fence > fence) throw new Rejection('TOOL_FENCED')
    if (session.fence < fence) session.ended.clear()
    session.fence = fence
    const older = [...session.running].filter(([, call]) => call.fence < fence)
    for (const [, call] of older) call.controller.abort(new Rejection('TOOL_FENCED'))
    await Promise.all(older.map(([, call]) => call.settled))
    return older.map(([id]) => id)
  }

  /** Admits no calls from now on, ends all that are running, and resolves when nothing of them is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    const running = [...this.#sessions.values()].flatMap(({ running }) => [...running.values()])
    for (const call of running) call.controller.abort(new Rejection('SERVICE_CLOSING'))
    await Promise.all(running.map((call) => call.settled))
  }

  #session(workspace: string, sessionId: string): Session {
    const key = `${workspace}\0${sessionId}`
    const session = this.#sessions.get(key) ?? { fence: 0n, running: new Map(), ended: new Set() }
    this.#sessions.delete(key)
    this.#sessions.set(key, session)
    if (this.#sessions.size > MAX_IDLE_SESSIONS) this.#forgetIdle(key)
    return session
  }

  #forgetIdle(except: string): void {
    for (const [key, { running }] of this.#sessions) {
      if (running.size > 0 || key === except) continue
      this.#sessions.delete(key)
      return
    }
  }
}

function remember(ended: Set<string>, callId: string): void {
  ended.add(callId)
  const [oldest] = ended
  if (ended.size > MAX_ENDED_CALLS && oldest !== undefined) ended.delete(oldest)
}
