import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ConfigError } from '#shared/config/config-error.ts'

/** The system's error codes if this user may not write there. */
const REFUSED = ['EACCES', 'EPERM', 'EROFS']

/**
 * Makes the data folder unless it exists, and makes sure that this user can write to it and to the file in it, if that
 * exists. Throws a ConfigError that names the setting, also for the default folder.
 */
export function makeDataDirectory(directory: string, file?: string): void {
  let path = directory
  try {
    makeDirectory(directory)
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
    if (file === undefined || !existsSync(join(directory, file))) return
    path = join(directory, file)
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    throw new ConfigError([{ variable: 'PORTICO_DATA_DIR', problem: problemOf(error, path) }], { cause: error })
  }
}

function problemOf(error: unknown, path: string): string {
  const { code = String(error), path: culprit } = error as NodeJS.ErrnoException
  if (REFUSED.includes(code)) return `this user cannot write to ${path} (${code})`
  if (code === 'EEXIST' || code === 'ENOTDIR') return `${culprit ?? path} is a file, not a folder`
  return `the folder ${path} cannot be made (${code})`
}

/**
 * Makes a directory, and the missing ones above it, accessible to this user alone. Throws the system's error. @NOTE not
 * `mkdirSync` with `recursive`, which never ends where the system reports a directory that cannot be made as missing
 * (below /proc).
 */
function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  if (dirname(path) !== path) makeDirectory(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
}
