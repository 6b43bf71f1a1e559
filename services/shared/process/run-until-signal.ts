import { systemClock } from '#shared/clock.ts'
import { ConfigError } from '#shared/config/config-error.ts'
import { diskProblem } from '#shared/stores/disk-problem.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import type { Logger } from '#shared/telemetry/logging.ts'

/**
 * A terminal signals npm's child as well as npm, which passes the signal on. A signal that follows the first one so
 * quickly is the same request.
 */
const SAME_SIGNAL_MS = 500

export interface StopOptions {
  /** How many milliseconds disposal may take before the process ends anyway, with code 1. */
  readonly shutdownMs: number
  /** Called at the first signal. */
  readonly onStopping?: ((signal: NodeJS.Signals) => void) | undefined
  /** Called when everything was released after a signal; the process ends when it resolves. */
  readonly onStopped?: (() => void | Promise<void>) | undefined
}

/** What a process logs when it stops. */
export function loggedStop(logger: Logger): Pick<StopOptions, 'onStopping' | 'onStopped'> {
  return {
    onStopping: (signal) => logger.info({ signal }, 'Stopping'),
    onStopped: async () => {
      logger.info('Stopped')
      // Lines are written asynchronously, and what is left at exit could overtake one that is being written.
      await new Promise<void>((resolve) => logger.flush(() => resolve()))
    },
  }
}

/**
 * Runs a process. `start` builds it, and puts what must be released on the stack. SIGINT or SIGTERM releases that in
 * reverse order, and the process ends with code 0. A second signal, half a second later or more, ends it at once. A
 * failed start releases what there is and ends with code 1; unusable settings are reported without a stack trace.
 */
export async function runUntilSignal(
  start: (resources: AsyncDisposableStack) => Promise<void>,
  options: StopOptions,
): Promise<never> {
  // Otherwise Node opens its inspector at this signal, and whoever reaches its port can run code here, as any command
  // of `bash` could. A flag of bin/portico.mjs covers the time before.
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
  // A timer that is not unref'd keeps the process alive while disposal waits for something that never comes.
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

/** One line if the cause is a setting or a store that cannot be used; the stack if the fault is ours. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof ConfigError) return error.message
  const problem = isStoreUnavailable(error) ? error.metadata.problem : diskProblem(error)?.text
  return problem === undefined ? (error.stack ?? error.message) : `The store cannot be used: ${problem}`
}
