import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * What a new process finds after the one that works on this directory was killed: a copy of its files as they are now.
 */
export async function afterKill({ directory }: { readonly directory: string }): Promise<string> {
  for (const name of await readdir(directory)) {
    await cp(join(directory, name), join(directory, 'copy', name), { recursive: true })
  }
  return join(directory, 'copy')
}
