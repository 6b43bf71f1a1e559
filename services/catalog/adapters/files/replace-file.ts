import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { KeyedQueue } from '#shared/keyed-queue.ts'
import { ToolError } from '../tools/tool.ts'
import { confine, handlePath, nameIn, toToolError } from './confinement.ts'
import { codeOf, subpathOf } from './paths.ts'

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** A version of a file, by which a change by somebody else is detected. */
export interface FileVersion {
  readonly ino: number
  readonly mtimeMs: number
  readonly size: number
}

/**
 * Writes a whole file of a location at its real path: first beside it, and then in its place, so that nobody sees half
 * of it; missing directories are created. The path is walked from the location down, directory by directory; each is
 * opened without following a link, and the next is opened relative to it, so that no link leads out, whenever it was
 * planted. The mode of an existing file is kept. Throws ToolError; `changed` if `expected` is given and is not the
 * present version.
 */
export async function replaceFile(
  directory: string,
  real: string,
  data: string | Uint8Array,
  expected?: FileVersion,
): Promise<{ readonly created: boolean }> {
  confine(directory, real)
  // Its parent is outside of the location.
  if (real === directory) throw new ToolError('is_directory', `${nameIn(directory, real)} is a directory`)
  try {
    await using parent = await openParent(directory, dirname(real))
    const at = handlePath(parent.handle, dirname(real))
    return await writeAt(at, basename(real), data, expected)
  } catch (error) {
    throw toToolError(error, nameIn(directory, real))
  }
}

interface OpenDirectory extends AsyncDisposable {
  readonly handle: FileHandle
}

async function openParent(directory: string, parent: string): Promise<OpenDirectory> {
  let path = directory
  let handle = await open(path, DIRECTORY)
  for (const name of subpathOf(directory, parent).split('/').filter(Boolean)) {
    const at = join(handlePath(handle, path), name)
    path = join(path, name)
    try {
      await mkdir(at).catch((error: unknown) => {
        if (codeOf(error) !== 'EEXIST') throw error
      })
      const next = await open(at, DIRECTORY)
      await handle.close()
      handle = next
    } catch (error) {
      await handle.close()
      throw error
    }
  }
  return { handle, [Symbol.asyncDispose]: () => handle.close() }
}

async function writeAt(at: string, name: string, data: string | Uint8Array, expected?: FileVersion) {
  const before = await statOf(join(at, name))
  if (before?.isDirectory()) throw new ToolError('is_directory', `${name} is a directory`)
  if (before !== undefined && !before.isFile()) throw new ToolError('not_a_file', `${name} is not a regular file`)
  const temporary = join(at, `.portico-${randomUUID()}.tmp`)
  try {
    await using file = await open(temporary, NEW_FILE, 0o666)
    if (before !== undefined) await file.chmod(before.mode & 0o7777)
    await file.writeFile(data)
    if (expected !== undefined && !isSame(await statOf(join(at, name)), expected)) {
      throw new ToolError('changed', `${name} was changed by somebody else meanwhile; read it again`)
    }
    await rename(temporary, join(at, name))
    return { created: before === undefined }
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

function isSame(stats: FileVersion | undefined, expected: FileVersion): boolean {
  return stats?.ino === expected.ino && stats.mtimeMs === expected.mtimeMs && stats.size === expected.size
}

async function statOf(path: string) {
  try {
    return await lstat(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

const edits = new KeyedQueue()

/**
 * Runs the jobs for a path one after the other, since concurrent edits of a file would lose one. Throws if the signal
 * aborts.
 */
export function exclusively<T>(path: string, signal: AbortSignal, job: () => Promise<T>): Promise<T> {
  return edits.run(path, () => {
    signal.throwIfAborted()
    return job()
  })
}
