// Resource usage of a process and its descendants; a process that has ended uses nothing. Linux only.
import { readdirSync, readFileSync } from 'node:fs'

/** CPU time of a process, its living children, and ended children, in ticks. */
export function ticks(pid: number): number {
  const stat = read(`${pid}/stat`)
  // After the name, which may contain anything: user and system time are the 12th and 13th fields, followed by those of
  // ended children.
  const own = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number)
  return [...own, ...children(pid).map(ticks)].reduce((sum, value) => sum + value, 0)
}

/** Resident megabytes of a process and its children. */
export function memory(pid: number): number {
  const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(read(`${pid}/status`))?.[1] ?? 0)
  return children(pid).reduce((sum, child) => sum + memory(child), Math.round(kilobytes / 1_024))
}

/** The processes below one. */
export function descendants(pid: number): number[] {
  return children(pid).flatMap((child) => [child, ...descendants(child)])
}

/** The command line of a process. */
export function commandOf(pid: number): string {
  return read(`${pid}/cmdline`).replaceAll('\0', ' ')
}

function children(pid: number): number[] {
  const texts = gone(() => readdirSync(`/proc/${pid}/task`), []).map((thread) => read(`${pid}/task/${thread}/children`))
  return texts.flatMap((text) => text.split(' ').filter(Boolean).map(Number))
}

function read(path: string): string {
  return gone(() => readFileSync(`/proc/${path}`, 'utf8'), '')
}

function gone<T>(look: () => T, otherwise: T): T {
  try {
    return look()
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return otherwise
    throw error
  }
}
