// What a process and those below it use. Linux only.
import { readdirSync, readFileSync } from 'node:fs'

/** CPU time of a process, of its children that live, and of those that have ended, in ticks. */
export function ticks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // After the name, which may hold anything: user and system time are the 12th and 13th, then those of ended children.
  const own = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number)
  return [...own, ...children(pid).map(ticks)].reduce((sum, value) => sum + value, 0)
}

/** Resident megabytes of a process and its children. */
export function memory(pid: number): number {
  const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  return children(pid).reduce((sum, child) => sum + memory(child), Math.round(kilobytes / 1_024))
}

function children(pid: number): number[] {
  const threads = readdirSync(`/proc/${pid}/task`)
  const texts = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'))
  return texts.flatMap((text) => text.split(' ').filter(Boolean).map(Number))
}
