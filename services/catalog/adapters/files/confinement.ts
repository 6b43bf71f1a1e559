import { type BigIntStats, constants, type Dirent } from 'node:fs'
import { type FileHandle, lstat, open, readdir, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { ToolError } from '../tools/tool.ts'
import { codeOf, isInside, subpathOf } from './paths.ts'
import { FileTooLargeError, UnreadableFileError } from './read-bounded.ts'

/** Where a path leads at one moment. */
export interface Target {
  /** The real path: every symbolic link is resolved, even if the last parts do not exist yet. */
  readonly real: string
  /** What permission rules see: the real path, and the path as it was written if that differs. */
  readonly resources: string[]
}

const MAX_LINKS = 40

/** Resolves a path that is absolute or relative to a location. Reads only links. */
export async function locate(directory: string, path: string): Promise<Target> {
  const absolute = resolve(directory, path)
  const real = await realPathOf(absolute)
  const written = isInside(directory, absolute) ? [nameIn(directory, absolute)] : []
  return { real, resources: [...new Set([nameIn(directory, real), ...written])] }
}

/**
 * The name of a path in a location: relative with `/`, or `.` for the location itself; a path outside of it is returned
 * unchanged.
 */
export function nameIn(directory: string, path: string): string {
  return isInside(directory, path) ? subpathOf(directory, path) || '.' : path
}

/** Throws ToolError `outside_location` for a real path outside of the location, whatever permission was given. */
export function confine(directory: string, real: string): void {
  if (isInside(directory, real)) return
  throw new ToolError('outside_location', `${real} is outside of the project directory ${directory}`)
}

/**
 * Opens a regular file or, with O_DIRECTORY, a directory in a location for reading. Then it verifies that the opened
 * file is the one at the real path, so that a link planted meanwhile is detected. Throws ToolError.
 */
export async function openInside(directory: string, real: string, flags = 0): Promise<FileHandle> {
  confine(directory, real)
  try {
    // So that it does not wait for the writer of a named pipe.
    const mode = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
    const file = await open(real, mode | flags)
    try {
      if (!(await isStill(real, file))) throw new ToolError('outside_location', `${real} is not where it was`)
      return file
    } catch (error) {
      await file.close()
      throw error
    }
  } catch (error) {
    throw toToolError(error, nameIn(directory, real))
  }
}

/** Reads the names in a directory of a location, with the same verification as `openInside`. Sorted. */
export async function readDirectoryInside(directory: string, real: string): Promise<Dirent[]> {
  await using handle = await openInside(directory, real, constants.O_DIRECTORY)
  try {
    const entries = await readdir(handlePath(handle, real), { withFileTypes: true })
    return entries.sort((left, right) => (left.name < right.name ? -1 : 1))
  } catch (error) {
    throw toToolError(error, nameIn(directory, real))
  }
}

/**
 * A path that stands for an open directory, whatever happens to its name: Linux names open files in /proc. On other
 * systems it is the path itself, where a race between a check and its use is possible.
 */
export function handlePath(handle: FileHandle, path: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path
}

/** Converts an error of the file system to one for the model; any other error is returned unchanged. */
export function toToolError(error: unknown, name: string): unknown {
  if (error instanceof FileTooLargeError) return new ToolError('too_large', `${name}: ${error.message}`)
  if (error instanceof UnreadableFileError) return new ToolError('io', `${name}: ${error.message}`)
  switch (codeOf(error)) {
    case 'ENOENT':
      return new ToolError('not_found', `${name} does not exist`)
    case 'EISDIR':
      return new ToolError('is_directory', `${name} is a directory`)
    case 'ENOTDIR':
      return new ToolError('not_a_directory', `${name} is not a directory, or a part of its path is not`)
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new ToolError('permission_denied', `The system does not allow access to ${name}`)
    case 'ELOOP':
      return new ToolError('outside_location', `${name} is not where it was`)
    case 'ENAMETOOLONG':
    case 'ENXIO':
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return new ToolError('io', `${name}: ${codeOf(error)}`)
    default:
      return isReadFailure(error) ? new ToolError('io', `${name} cannot be read (${codeOf(error)})`) : error
  }
}

function isReadFailure(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'read'
}

async function isStill(real: string, file: FileHandle): Promise<boolean> {
  if (process.platform === 'linux') return (await readlink(`/proc/self/fd/${file.fd}`)) === real
  const [opened, named, path] = await Promise.all([
    file.stat({ bigint: true }),
    stat(real, { bigint: true }),
    realpath(real),
  ])
  return path === real && sameFile(opened, named)
}

function sameFile(left: BigIntStats, right: BigIntStats): boolean {
  return left.dev === right.dev && left.ino === right.ino
}

/** Resolves every symbolic link in an absolute path, even if its last parts do not exist yet. */
export async function realPathOf(path: string, links = MAX_LINKS): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') return path
  }
  const parent = dirname(path)
  if (parent === path || links === 0) return path
  const next = await linkTarget(path)
  if (next !== undefined) return realPathOf(resolve(await realPathOf(parent, links - 1), next), links - 1)
  return join(await realPathOf(parent, links - 1), basename(path))
}

// A link whose target does not exist: writing through it would create the target.
async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined
  } catch {
    return undefined
  }
}

/** Returns the error or, if nothing is found because the whole location is gone, one that says so. */
export async function goneDirectory(error: ToolError, directory: string): Promise<ToolError> {
  if (error.kind !== 'not_found' && error.kind !== 'not_started') return error
  const isThere = await stat(directory).then(
    () => true,
    (failure: unknown) => codeOf(failure) !== 'ENOENT',
  )
  return isThere ? error : new ToolError('not_found', `The project directory does not exist any more: ${directory}`)
}
