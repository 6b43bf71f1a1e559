import { url as inspectorUrl } from 'node:inspector'
import { Worker } from 'node:worker_threads'
import type { Logger } from '#shared/telemetry/logging.ts'

/** How many times within the limit it is looked whether the event loop turns. */
const LOOKS = 10
/** So many times the limit the event loop may stand while the process opens: to recover a large store may rightly take long. */
const OPENING = 10
/** Places in the shared memory: counts the turns; whether a debugger may hold the process; whether all is open. */
const [BEAT, DEBUGGED, OPENED] = [0, 1, 2] as const

/** What the watchdog goes by. */
export interface WatchdogOptions {
  /** Longest silence of the event loop, in milliseconds; 0: there is no watchdog. */
  readonly limitMs: number
  /** Name of the process in its log. */
  readonly service: string
}

/** A watchdog that looks. */
export interface Watchdog {
  /** Says that all is open: until then it has ten times the patience. */
  opened(): void
}

interface Watch extends WatchdogOptions {
  readonly memory: Int32Array
  readonly looks: number
  readonly opening: number
}

/**
 * From now on a thread ends this process when its event loop has not turned for so long, after one log line that says
 * where it stands: with SIGKILL, or with exit code 137 where the process is the first of a container, which its own SIGKILL
 * does not reach. A process that spins receives neither requests nor signals, and what it holds (the data folder, leases) is
 * free again only when it is gone. The thread counts its own looks and no time, so that a process that was suspended
 * (SIGSTOP, a laptop that slept, a frozen container) is not taken for one that spins; one with a debugger is left alone.
 * Neither the thread nor the heartbeat keeps the process alive. The thread takes about 10 MB; when it fails, `logger` says so.
 */
export function startWatchdog({ limitMs, service, logger }: WatchdogOptions & { readonly logger: Logger }): Watchdog {
  if (limitMs === 0) return { opened: () => {} }
  const memory = new Int32Array(new SharedArrayBuffer(12))
  const beat = (): void => {
    Atomics.store(memory, DEBUGGED, inspectorUrl() === undefined ? 0 : 1)
    Atomics.add(memory, BEAT, 1)
  }
  beat()
  setInterval(beat, limitMs / LOOKS).unref()
  const watch: Watch = { memory, looks: LOOKS, opening: OPENING, limitMs, service }
  // Nothing that this process was started with is for the thread, preloaded modules in particular.
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
    // First, so that what the event loop has stood so far is not counted by the shorter limit.
    beat()
    Atomics.store(memory, OPENED, 1)
  }
  return { opened }
}

// The whole code of the thread: it is handed over as text, and sees nothing of this module.
function watchOver(): void {
  const { workerData } = process.getBuiltinModule('node:worker_threads')
  const { memory, looks, opening, limitMs, service } = workerData as Watch
  let last = Atomics.load(memory, 0)
  let patience = opening
  for (let silent = 0; silent < looks * patience; ) {
    // Nobody notifies: this sleeps.
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
    'The next start goes on with what was accepted'
  const session = new (process.getBuiltinModule('node:inspector').Session)()
  session.connectToMainThread()
  const end = (): void => {
    process.kill(process.pid, 'SIGKILL')
    // Still here: this is the first process of a container.
    session.post('Debugger.disable')
    session.post('Runtime.evaluate', { expression: 'process.reallyExit(137)' })
    // Node waits for whoever debugs it.
    setTimeout(() => session.disconnect(), 100)
  }
  let reported = false
  const report = (stack: readonly string[]): void => {
    if (reported) return
    reported = true
    const time = new Date().toISOString()
    const line = JSON.stringify({ level: 'fatal', time, service, pid: process.pid, stack, msg })
    process.getBuiltinModule('node:fs').write(1, `${line}\n`, end)
    // An output that takes nothing must not keep the process.
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
  // What is not JavaScript cannot say where it stands.
  setTimeout(report, 1_000, [])
}
