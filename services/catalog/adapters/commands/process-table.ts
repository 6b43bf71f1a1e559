import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { codeOf, isOutOfDescriptors } from '../files/paths.ts'

const MAX_ROUNDS = 200
const MAX_PAUSE_MS = 25
const PROCESSES_AT_ONCE = 64

/**
 * Kills every process of a group and, on Linux, every process whose environment began with `mark`, wherever it has
 * moved; resolves when none is left. New ones that appear meanwhile are killed, too. After some seconds it gives up:
 * nobody can end what the kernel does not let go. On other systems, processes that left the group are not found.
 */
export async function killAll(group: number, mark: string): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    // All are stopped before any is killed, so that none continues because another one, for which it waited, has ended.
    signalGroup(group, 'SIGSTOP')
    const pids = process.platform === 'linux' ? await livingProcesses(group, mark) : []
    for (const pid of pids ?? []) kill(pid, 'SIGSTOP')
    const grouped = signalGroup(group, 'SIGKILL')
    for (const pid of pids ?? []) kill(pid, 'SIGKILL')
    if (pids?.length === 0 && (process.platform === 'linux' || !grouped)) return
    await delay(Math.min(round, MAX_PAUSE_MS))
  }
}

/** Sends a signal to every process of a group; returns whether there was one (on Linux, dead ones count, too). */
export function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-group, signal)
    return true
  } catch (error) {
    if (codeOf(error) === 'ESRCH' || codeOf(error) === 'EPERM') return false
    throw error
  }
}

// Undefined: this process has no descriptors left.
async function livingProcesses(group: number, mark: string): Promise<number[] | undefined> {
  try {
    return await findProcesses(group, mark)
  } catch (error) {
    if (isOutOfDescriptors(error)) return undefined
    throw error
  }
}

async function findProcesses(group: number, mark: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const ids: number[] = []
  for (const [index, pid] of pids.entries()) {
    // Files in /proc cost the thread pool ten times as much as reading them here; an occasional pause lets others work.
    if (index % PROCESSES_AT_ONCE === PROCESSES_AT_ONCE - 1) await setImmediate()
    if (isMine(pid, group, mark)) ids.push(pid)
  }
  return ids
}

function isMine(pid: number, group: number, mark: string): boolean {
  try {
    // proc_pid_stat(5): pid (name) state parent group …; the name may contain anything.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [state = '', , processGroup = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3)
    if (state === 'Z' || state === 'X') return false
    return Number(processGroup) === group || readFileSync(`/proc/${pid}/environ`).includes(mark)
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error
    // It has ended meanwhile, or belongs to somebody else.
    return false
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error
  }
}
