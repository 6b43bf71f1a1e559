import { readlink } from 'node:fs/promises'
import { codeOf } from './paths.ts'

/** Says in the name of a file which process it belongs to. */
export async function processMark(): Promise<string> {
  return `${await pidNamespace()}-${process.pid}`
}

/**
 * Whether the process of a mark is gone: `alive` of those that are there, `gone` of those that are not, `unknown` of those of other
 * containers, whose process ids mean nothing here.
 */
export async function ownerOf(mark: string): Promise<'alive' | 'gone' | 'unknown'> {
  const [namespace, pid] = mark.split('-')
  if (namespace !== (await pidNamespace())) return 'unknown'
  return isAlive(Number(pid)) ? 'alive' : 'gone'
}

/** Process ids are unique in it. Elsewhere than on Linux there is one. */
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
