import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Share of a period in which a process that does nothing may be busy, in CPU time: polls, heartbeats. */
const QUIET_SHARE = 0.02
/** What is not worth a collection. */
const SLACK_BYTES = 24 << 20
/** After a collection come as many periods without one as it took units of so much CPU time: it holds the event loop. */
const REST_UNIT_MS = 25

/**
 * From now on begins to give back what the heap keeps after a busy time, once the main thread has had nothing to do for a
 * whole period: V8 collects garbage only while more is made, so that hundreds of megabytes would stay until the next load.
 * One collection is enough: V8 looks again 8 s and more after it, and then lets go what it keeps for the next load, bit by
 * bit. It holds the event loop for 50 ms where 50 MB are in use, is done once after the start, and then only when the process
 * has grown by 24 MB, after a rest that is longer the longer the last one took. Keeps no process alive.
 */
export function giveBackIdleMemory(periodMs = 5_000): void {
  const collect = collector()
  const quietMs = periodMs * QUIET_SHARE
  // Not the time that the event loop took: on a machine that others keep busy it always takes long.
  let worked = cpuMs()
  let kept = 0
  let rests = 0
  setInterval(() => {
    const began = cpuMs()
    const quiet = began - worked <= quietMs
    worked = began
    const resident = process.memoryUsage.rss()
    kept = Math.min(kept, resident)
    if (rests-- > 0 || !quiet || resident < kept + SLACK_BYTES) return
    collect()
    worked = cpuMs()
    rests = Math.floor((worked - began) / REST_UNIT_MS)
    kept = resident
  }, periodMs).unref()
}

/** CPU time of the calling thread so far. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

// The function is made for contexts that begin while the flag is set; this process's own does not get it.
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as NodeJS.GCFunction
  setFlagsFromString('--no-expose-gc')
  return () => void gc({ type: 'major', execution: 'sync' })
}
