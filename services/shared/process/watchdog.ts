import { url as inspectorUrl } from 'node:inspector'
import { Worker } from 'node:worker_threads'
import type { Logger } from '#shared/telemetry/logging.ts'

/** How many times within the limit the watchdog checks whether the event loop turns. */
const LOOKS = 10
/**
 * While the process opens, the limit is this many times longer, since recovering a large store may rightly take long.
 */
const OPENING = 10
/**
 * Places in the shared memory: a counter of turns; whether a debugger may have paused the process; whether everything
 * is open.
 */
const [BEAT, DEBUGGED, OPENED] = [0, 1, 2] as const

/** What a watchdog is made from. */
export interface WatchdogOptions {
  /** How long the event loop may be blocked, in milliseconds; 0: there is no watchdog. */
  readonly limitMs: number
  /** Name of the process, for its log. */
  readonly service: string
  /** How long it may take to find out where the event loop is blocked, in milliseconds; default: 1 s. */
  readonly stackMs?: number
}

export interface Watchdog {
  /** Must be called once everything is open: until then the limit is ten times as long. */
  opened(): void
}

interface Watch extends WatchdogOptions {
  readonly memory: Int32Array
  readonly looks: number
  readonly opening: number
  readonly stackMs: number
}

/**
 * Starts a thread that ends this process if its event loop does not turn for `limitMs`, after one log line that shows
 * where it is blocked. It ends it with SIGKILL, or with exit code 137 if the process is the first of a container, which
 * cannot be reached by its own SIGKILL. A process that spins receives neither requests nor signals, and what it holds
 * (the data folder, leases) is only released when it is gone. The thread counts its own checks instead of time, so that
 * a suspended process (SIGSTOP, a laptop that slept, a frozen container) is not mistaken for one that spins. A process
 * with a debugger is left alone. Neither the thread nor the heartbeat keeps the process alive. The thread takes about
 * 10 MB; if it fails, that is logged.
 */
export function startWatchdog({
  limitMs,
  service,
  stackMs = 1_000,
  logger,
}: WatchdogOptions & { readonly logger: Logger }): Watchdog {
  if (limitMs === 0) return { opened: () => {} }
  const memory = new Int32Array(new SharedArrayBuffer(12))
  const beat = (): void => {
    Atomics.store(memory, DEBUGGED, inspectorUrl() === undefined ? 0 : 1)
    Atomics.add(memory, BEAT, 1)
  }
  beat()
  setInterval(beat, limitMs / LOOKS).unref()
  const watch: Watch = { memory, looks: LOOKS, opening: OPENING, limitMs, service, stackMs }
  // Nothing that this process was started with is meant for the thread, least of all preloaded modules.
  const options = { eval: true, env: {}, execArgv: [], workerData: watch, name: 'watchdog' }
  const worker = new Worker(`(${watchOver})()`, options)
  worker.on('error', (error) => {
    logger.error(
      { err: error },
      'The watchdog has failed: this process will not be ended when its event loop is blocked',
    )
  })
  worker.unref()
  const opened = (): void => {
    // Beats first, so that the time for which the event loop was blocked so far is not measured by the shorter limit.
    beat()
    Atomics.store(memory, OPENED, 1)
  }
  return { opened }
}

// The whole code of the thread: it is passed as text, and cannot use anything else in this module.
function watchOver(): void {
  const { workerData } = process.getBuiltinModule('node:worker_threads')
  const { memory, looks, opening, limitMs, service, stackMs } = workerData as Watch
  let last = Atomics.load(memory, 0)
  let patience = opening
  for (let silent = 0; silent < looks * patience; ) {
    // Nobody notifies; this only sleeps.
    Atomics.wait(memory, 1, Atomics.load(memory, 1), limitMs / looks)
    patience = Atomics.load(memory, 2) === 0 ? opening : 1
    const beat = Atomics.load(memory, 0)
    silent = beat === last && Atomics.load(memory, 1) === 0 ? silent + 1 : 0
    last = beat
  }
  const seconds = (limitMs * patience) / 1_000
  const setting = `${patience === 1 ? '' : `while it started, ${patience} times `}PORTICO_WATCHDOG_SECONDS`
  const msg =
    `The event loop has not turned for ${seconds} s (${setting}): ending this process with SIGKILL. ` +
    'The next start continues with what was accepted'
  const session = new (process.getBuiltinModule('node:inspector').Session)()
  session.connectToMainThread()
  const end = (): void => {
    process.kill(process.pid, 'SIGKILL')
    // Still alive: this is the first process of a container.
    session.post('Debugger.disable')
    session.post('Runtime.evaluate', { expression: 'process.reallyExit(137)' })
    // Node waits for the debugger to detach.
    setTimeout(() => session.disconnect(), 100)
  }
  let reported = false
  const report = (stack: readonly string[]): void => {
    if (reported) return
    reported = true
    const time = new Date().toISOString()
    const line = JSON.stringify({ level: 'fatal', time, service, pid: process.pid, stack, msg })
    process.getBuiltinModule('node:fs').write(1, `${line}\n`, end)
    // An output that accepts nothing must not keep the process alive.
    setTimeout(end, 2_000)
  }
  const files = new Map<string, string>()
  session.on('Debugger.scriptParsed', ({ params: { scriptId, url } }) => files.set(scriptId, url))
  session.on('Debugger.paused', ({ params: { callFrames } }) => {
    const places = callFrames.map(({ functionName, location: { scriptId, lineNumber } }) => {
      return `${functionName || '(anonymous)'} ${files.get(scriptId) ?? ''}:${lineNumber + 1}`
    })
    report(places.slice(0, 10))
  })
  session.post('Debugger.enable', () => session.post('Debugger.pause'))
  // Code that is not JavaScript cannot report where it is.
  setTimeout(report, stackMs, [])
}
