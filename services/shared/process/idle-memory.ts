import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The share of a period that an idle process may use as CPU time, for polls and heartbeats. */
const QUIET_SHARE = 0.02
/** Growth that is not worth a collection. */
const SLACK_BYTES = 24 << 20

/**
 * Starts to give back memory that the heap keeps after a busy time, once the main thread was idle for a whole period.
 * V8 collects garbage only while more is made, so hundreds of megabytes would otherwise stay until the next load. Some
 * 40 MB that a collection empties stay in V8's pool for the next load, unless the heap has grown by 10 MB since V8
 * emptied the pool last; nothing can have it do so. It happens once after the start, and then only if the process has
 * grown by 24 MB. Live objects are marked in small steps, between which the event loop turns. It does not keep the
 * process alive.
 */
export function giveBackIdleMemory(periodMs = 5_000): void {
  const collect = collector()
  const quietMs = periodMs * QUIET_SHARE
  // Not the elapsed time of the event loop, which is always long on a machine that is busy with other things.
  let worked = cpuMs()
  let kept = 0
  setInterval(() => {
    const began = worked
    worked = cpuMs()
    const resident = process.memoryUsage.rss()
    kept = Math.min(kept, resident)
    if (worked - began > quietMs || resident < kept + SLACK_BYTES) return
    collect()
    kept = resident
  }, periodMs).unref()
}

/** CPU time that the calling thread has used so far. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/**
 * A collection of everything at once (`type: 'major'`) would block the event loop for 50 ms if 50 MB are in use. After
 * each collection of young objects, V8 decides whether to start marking all others incrementally; with this flag it
 * always does.
 */
function collector(): () => void {
  // The function exists only in contexts that are created while the flag is set, so this process's own context does not
  // get it.
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as NodeJS.GCFunction
  setFlagsFromString('--no-expose-gc')
  return () => {
    setFlagsFromString('--stress-incremental-marking')
    void gc({ type: 'minor', execution: 'sync' })
    setFlagsFromString('--no-stress-incremental-marking')
  }
}
