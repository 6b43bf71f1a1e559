import type { FileHandle } from 'node:fs/promises'

/** A part of a text file. */
export interface LineWindow {
  readonly lines: readonly string[]
  /** Whether more lines follow. */
  readonly more: boolean
}

const CHUNK_BYTES = 64 << 10
const MAX_LINE_BYTES = 8 << 10
const LINE_FEED = 10

/**
 * Reads lines from a file, beginning at line `offset` (from 1), at most `limit` of them and `maxBytes`. A line of more
 * than 8 KiB is cut off, with a note. It holds only the result and one chunk in memory, however large the file and its
 * lines are.
 */
export async function readLines(
  file: FileHandle,
  { offset, limit, maxBytes }: { readonly offset: number; readonly limit: number; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<LineWindow> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  const lines: string[] = []
  let line: Buffer[] = []
  let lineBytes = 0
  let number = 1
  let bytes = 0
  const keep = (part: Buffer): void => {
    if (number >= offset && lineBytes < MAX_LINE_BYTES)
      line.push(Buffer.from(part.subarray(0, MAX_LINE_BYTES - lineBytes)))
    lineBytes += part.length
  }
  /** Whether the line fits. */
  const endLine = (): boolean => {
    if (number >= offset) {
      const text = textOf(Buffer.concat(line), lineBytes)
      bytes += Buffer.byteLength(text) + 1
      if (lines.length === limit || (bytes > maxBytes && lines.length > 0)) return false
      lines.push(text)
    }
    number++
    line = []
    lineBytes = 0
    return true
  }
  for (;;) {
    signal.throwIfAborted()
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES)
    if (bytesRead === 0) return { lines, more: lineBytes > 0 && !endLine() }
    let start = 0
    while (start < bytesRead) {
      const end = chunk.subarray(0, bytesRead).indexOf(LINE_FEED, start)
      keep(chunk.subarray(start, end === -1 ? bytesRead : end))
      if (end === -1) break
      if (!endLine()) return { lines, more: true }
      start = end + 1
    }
    if (lines.length === limit && lineBytes > 0) return { lines, more: true }
  }
}

function textOf(bytes: Buffer, length: number): string {
  const text = bytes.toString()
  if (length <= MAX_LINE_BYTES) return text.replace(/\r$/, '')
  return `${text.replace(/\uFFFD$/, '')}… [line of ${length} bytes]`
}
