import { constants } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'

/** Opening a named pipe does not wait for a writer, which would occupy a thread of the process for good. */
const READING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/** Writes a new file; resolves when it is durable. */
export async function writeSynced(path: string, data: Uint8Array): Promise<void> {
  await using file = await open(path, 'wx', 0o600)
  await file.writeFile(data)
  await file.sync()
}

/** Moves a file to a path; whatever is there is replaced. */
export async function replaceBy(path: string, by: string): Promise<void> {
  if (await isDirectory(path)) await rm(path, { recursive: true })
  await rename(by, path)
}

/** Makes the names in a directory durable. Windows does so by itself, and can't open one. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  await using directory = await open(path, 'r')
  await directory.sync()
}

/** Whether a file has this content. A damaged or unreadable one has to be written again. */
export async function isIntact(path: string, data: Uint8Array): Promise<boolean> {
  try {
    return (await readRegular(path, data.byteLength))?.equals(data) ?? false
  } catch {
    return false
  }
}

/** The content of a regular file, which has that size if one is given; undefined: there is no such file. */
export async function readRegular(path: string, size?: number): Promise<Buffer | undefined> {
  const opened = await open(path, READING).catch(unlessMissing)
  if (opened === undefined) return undefined
  await using file = opened
  const stats = await file.stat()
  return stats.isFile() && (size === undefined || stats.size === size) ? await file.readFile() : undefined
}

export async function isRegular(path: string): Promise<boolean> {
  return (await stat(path).catch(unlessMissing))?.isFile() ?? false
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(unlessMissing))?.isDirectory() ?? false
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
}
