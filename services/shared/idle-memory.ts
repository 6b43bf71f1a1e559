import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Share of a period in which a process that does nothing may be busy: polls, heartbeats. */
const QUIET_SHARE = 0.02
/** What is not worth a collection. */
const SLACK_BYTES = 24 << 20

/**
 * From now on gives back what the heap keeps after a busy time, once the event loop has had nothing to do for a whole period:
 * V8 does so only in a collection that is asked to save memory, and while nothing happens it makes none, so that hundreds
 * of megabytes of garbage would stay until the next load. It takes 0.1 s or so for each 50 MB that are in use, is done
 * once after the start, and then only when the process has grown by 24 MB. Keeps no process alive.
 */
export function giveBackIdleMemory(periodMs = 5_000): void {
  const collect = collector()
  let before = performance.eventLoopUtilization()
  let kept = 0
  setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(before)
    before = performance.eventLoopUtilization()
    if (utilization > QUIET_SHARE || process.memoryUsage.rss() < kept + SLACK_BYTES) return
    collect()
    kept = process.memoryUsage.rss()
  }, periodMs).unref()
}

// The function is made for contexts that begin while the flag is set; this process's own does not get it.
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as NodeJS.GCFunction
  setFlagsFromString('--no-expose-gc')
  return () => void gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
