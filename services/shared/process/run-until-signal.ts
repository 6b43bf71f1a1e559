import { systemClock } from '#shared/clock.ts'
import { ConfigError } from '#shared/config/config-error.ts'
import type { Rejection } from '#shared/rejection.ts'
import { diskProblem } from '#shared/stores/disk-problem.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import type { Logger } from '#shared/telemetry/logging.ts'

/** A terminal signals npm's child as well as npm, which passes the signal on: what comes so soon after the first is the same request. */
const SAME_SIGNAL_MS = 500

/** How a process stops. */
export interface StopOptions {
  /** How long disposal may take, in milliseconds, before the process ends all the same with code 1. */
  readonly shutdownMs: number
  /** Called at the first signal. */
  readonly onStopping?: ((signal: NodeJS.Signals) => void) | undefined
  /** Called when all has been released after a signal; the process ends when it resolves. */
  readonly onStopped?: (() => void | Promise<void>) | undefined
}

/** What a process of its own says in its log when it stops. */
export function loggedStop(logger: Logger): Pick<StopOptions, 'onStopping' | 'onStopped'> {
  return {
    onStopping: (signal) => logger.info({ signal }, 'Stopping'),
    onStopped: async () => {
      logger.info('Stopped')
      // Lines are written behind the back of the process, and what is left at its exit would overtake one on its way.
      await new Promise<void>((resolve) => logger.flush(() => resolve()))
    },
  }
}

/**
 * Runs a process: `start` builds it and puts what must be released on the stack; SIGINT or SIGTERM releases it in reverse
 * order, then the process ends with code 0. A second signal, half a second later or more, ends it at once. A failed start releases what there is and
 * ends with code 1; settings that cannot be used are reported without a stack trace.
 */
export async function runUntilSignal(
  start: (resources: AsyncDisposableStack) => Promise<void>,
  options: StopOptions,
): Promise<never> {
  // Else Node opens its inspector at this signal, and whoever reaches the port runs code here: any command of `bash` could
  // ask for it. The npm scripts have a flag for the time before.
  process.on('SIGUSR1', () => {})
  const resources = new AsyncDisposableStack()
  const signalled = firstSignal()
  let code = 0
  try {
    await Promise.race([start(resources), signalled])
    const signal = await signalled
    options.onStopping?.(signal)
  } catch (error) {
    code = 1
    report(error)
  }
  // A timer that is not unref'd keeps the process alive for as long as disposal waits for something that never comes.
  const late = setTimeout(() => {
    process.stderr.write(`Not everything ended within ${options.shutdownMs} ms\n`)
    process.exit(1)
  }, options.shutdownMs)
  try {
    await resources.disposeAsync()
  } catch (error) {
    code = 1
    report(error)
  }
  if (code === 0) await options.onStopped?.()
  clearTimeout(late)
  process.exit(code)
}

function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: number | undefined
    const onSignal = (signal: NodeJS.Signals): void => {
      const now = systemClock.monotonic()
      first ??= now
      if (now - first >= SAME_SIGNAL_MS) process.exit(signal === 'SIGINT' ? 130 : 143)
      resolve(signal)
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
}

function report(error: unknown): void {
  process.stderr.write(`${textOf(error)}\n`)
}

/** One line where the fault is outside: a setting, or a store that cannot be used. A stack where it is ours. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof ConfigError) return error.message
  const problem = isStoreUnavailable(error) ? (error as Rejection).metadata.problem : diskProblem(error)?.text
  return problem === undefined ? (error.stack ?? error.message) : `The store cannot be used: ${problem}`
}
