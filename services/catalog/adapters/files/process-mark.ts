import { readlink } from 'node:fs/promises'
import { codeOf } from './paths.ts'

/** A text for file names that identifies this process. */
export async function processMark(): Promise<string> {
  return `${await pidNamespace()}-${process.pid}`
}

/**
 * Whether the process of a mark is `alive` or `gone`; `unknown` for processes of other containers, whose ids mean
 * nothing here.
 */
export async function ownerOf(mark: string): Promise<'alive' | 'gone' | 'unknown'> {
  const [namespace, pid] = mark.split('-')
  if (namespace !== (await pidNamespace())) return 'unknown'
  return isAlive(Number(pid)) ? 'alive' : 'gone'
}

/** Process ids are unique in it. Systems other than Linux have only one. */
async function pidNamespace(): Promise<string> {
  const link = await readlink('/proc/self/ns/pid').catch(() => '')
  return /\d+/.exec(link)?.[0] ?? '0'
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}
