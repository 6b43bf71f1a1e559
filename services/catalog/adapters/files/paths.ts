import { isAbsolute, relative, sep } from 'node:path'

/** Whether a path is a directory or within it. Both are absolute and normalised; links are not resolved. */
export function isInside(directory: string, path: string): boolean {
  if (path === directory) return true
  const way = relative(directory, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

/** The path from a directory to something in it, with `/`; empty for the directory itself. */
export function subpathOf(directory: string, path: string): string {
  return relative(directory, path).replaceAll(sep, '/')
}

/** The error code of a failed system call, or undefined. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/**
 * Whether a system call failed because this process, or the system, has no descriptors left, which says nothing about
 * the file.
 */
export function isOutOfDescriptors(error: unknown): boolean {
  return codeOf(error) === 'EMFILE' || codeOf(error) === 'ENFILE'
}
