import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { codeOf } from './paths.ts'

/** A file is not regular, too large, or cannot be read. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError'
}

/** A file has more bytes than allowed. */
export class FileTooLargeError extends UnreadableFileError {}

/**
 * Reads a whole regular file of at most `limit` bytes. Throws UnreadableFileError; never waits for the writer of a
 * pipe.
 */
export async function readBounded(path: string, limit: number): Promise<Buffer> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return await readHandle(file, limit)
}

/**
 * The same for an open file, which may grow while it is read. `into`: a buffer with room for one byte more than
 * `limit`; absent: a new one.
 */
export async function readHandle(file: FileHandle, limit: number, into?: Buffer): Promise<Buffer> {
  const stats = await file.stat()
  if (!stats.isFile()) throw new UnreadableFileError('it is not a regular file')
  if (stats.size > limit) throw new FileTooLargeError(`it has more than ${limit} bytes`)
  const room = Math.min(limit, stats.size) + 1
  const buffer = into?.subarray(0, room) ?? Buffer.allocUnsafe(room)
  let length = 0
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, length).catch((error) => {
      throw new UnreadableFileError(`it cannot be read (${codeOf(error)})`, { cause: error })
    })
    if (bytesRead === 0) return buffer.subarray(0, length)
    length += bytesRead
  }
  throw new FileTooLargeError('it grew while it was read')
}
