import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Share of a period in which a process that does nothing may be busy: polls, heartbeats. */
const QUIET_SHARE = 0.02
/** What is not worth a collection. */
const SLACK_BYTES = 24 << 20
/** A collection that takes more CPU time is the last one. */
const LONGEST_MICROSECONDS = 100_000

/**
 * From now on begins to give back what the heap keeps after a busy time, once the event loop has had nothing to do for a
 * whole period: V8 collects garbage only while more is made, so that hundreds of megabytes would stay until the next load.
 * One collection is enough: V8 looks again 8 s and more after it, and then lets go what it keeps for the next load, bit by
 * bit. It holds the event loop for 50 ms where 50 MB are in use, is done once after the start, and then only when the process
 * has grown by 24 MB, and never again once it took more than 100 ms. Keeps no process alive.
 */
export function giveBackIdleMemory(periodMs = 5_000): void {
  const collect = collector()
  let before = performance.eventLoopUtilization()
  let kept = 0
  const timer = setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(before)
    before = performance.eventLoopUtilization()
    const resident = process.memoryUsage.rss()
    if (utilization > QUIET_SHARE || resident < kept + SLACK_BYTES) {
      kept = Math.min(kept, resident)
      return
    }
    const started = process.threadCpuUsage()
    collect()
    const { user, system } = process.threadCpuUsage(started)
    if (user + system > LONGEST_MICROSECONDS) clearInterval(timer)
    kept = resident
  }, periodMs).unref()
}

// The function is made for contexts that begin while the flag is set; this process's own does not get it.
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as NodeJS.GCFunction
  setFlagsFromString('--no-expose-gc')
  return () => void gc({ type: 'major', execution: 'sync' })
}
