import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/** A file that is not regular, or too large. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError'
}

/** Reads a whole regular file of at most `limit` bytes. Throws UnreadableFileError; never waits for a pipe's writer. */
export async function readBounded(path: string, limit: number): Promise<Buffer> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return await readHandle(file, limit)
}

/** The same for a file that is open; it may grow while it is read. */
export async function readHandle(file: FileHandle, limit: number): Promise<Buffer> {
  const stats = await file.stat()
  if (!stats.isFile()) throw new UnreadableFileError('it is no regular file')
  if (stats.size > limit) throw new UnreadableFileError(`it has more than ${limit} bytes`)
  const buffer = Buffer.allocUnsafe(Math.min(limit, stats.size) + 1)
  let length = 0
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length)
    if (bytesRead === 0) return buffer.subarray(0, length)
    length += bytesRead
  }
  throw new UnreadableFileError('it grew while it was read')
}
