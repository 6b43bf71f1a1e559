import type { JsonObject } from '#shared/json.ts'
import type { RunningCall } from './plugin-run.ts'
import { pause } from './wait.ts'

/** How long a call may continue after it was aborted. */
const ABORT_MS = 5_000

export interface CallOptions {
  readonly signal: AbortSignal
  /**
   * How long it waits for a process to run in; then the call is not made (TimeoutError). Undefined: without a limit.
   */
  readonly waitMs?: number
  /** The call fails if it takes longer. Undefined: the call is ended, and only its own thread restarts. */
  readonly limitMs?: number
  readonly progress?: (metadata: JsonObject) => void
}

interface Overdue {
  /** It exceeds its limit. */
  late(): Promise<void>
  /** It continues although it was aborted. Either must end it. */
  stuck(): void
}

/**
 * Follows a call to its end, within its limits. Throws what it throws, or the signal's reason, once nothing of it is
 * running.
 */
export async function makeCall(
  call: RunningCall,
  { signal, limitMs }: CallOptions,
  overdue: Overdue,
): Promise<unknown> {
  const over = new AbortController()
  const stop = async (): Promise<void> => {
    call.abort()
    if (await pause(ABORT_MS, over.signal)) overdue.stuck()
  }
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) void stop()
  if (limitMs !== undefined)
    void pause(limitMs, over.signal).then(async (late) => {
      if (late) await overdue.late()
    })
  try {
    const value = await call.answer
    signal.throwIfAborted()
    return value
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    over.abort()
    signal.removeEventListener('abort', stop)
  }
}
