import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The share of a period that an idle process may use as CPU time, for polls and heartbeats. */
const QUIET_SHARE = 0.02
/** Growth that is not worth a collection. */
const SLACK_BYTES = 24 << 20
/**
 * A collection blocks the event loop, so for each of these units of CPU time that it took, one period passes without
 * another collection.
 */
const REST_UNIT_MS = 25

/**
 * Starts to give back memory that the heap keeps after a busy time, once the main thread was idle for a whole period.
 * V8 collects garbage only while more is made, so hundreds of megabytes would otherwise stay until the next load. One
 * collection is enough: V8 checks again 8 s later, and then releases bit by bit what it keeps for the next load. A
 * collection blocks the event loop for 50 ms if 50 MB are in use. It happens once after the start, and then only if the
 * process has grown by 24 MB, after a pause that is longer the longer the last collection took. It does not keep the
 * process alive.
 */
export function giveBackIdleMemory(periodMs = 5_000): void {
  const collect = collector()
  const quietMs = periodMs * QUIET_SHARE
  // Not the elapsed time of the event loop, which is always long on a machine that is busy with other things.
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

/** CPU time that the calling thread has used so far. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

// The function exists only in contexts that are created while the flag is set, so this process's own context does not
// get it.
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as NodeJS.GCFunction
  setFlagsFromString('--no-expose-gc')
  return () => void gc({ type: 'major', execution: 'sync' })
}
