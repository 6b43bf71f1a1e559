import type { StoreProblem } from '#shared/stores/store-health.ts'

/** Result codes of SQLite (https://sqlite.org/rescode.html), without the upper bytes, which distinguish the kinds of one. */
const SQLITE: Readonly<Record<number, StoreProblem['kind']>> = {
  3: 'away', // PERM
  5: 'away', // BUSY
  6: 'away', // LOCKED
  7: 'away', // NOMEM
  8: 'away', // READONLY
  9: 'away', // INTERRUPT
  10: 'away', // IOERR
  11: 'damaged', // CORRUPT
  13: 'full', // FULL
  14: 'away', // CANTOPEN
  15: 'away', // PROTOCOL
  26: 'damaged', // NOTADB
}

/** Code of an error: a file that is open is no longer where it was. What is written to it is lost. */
export const FILE_GONE = 'STORE_FILE_GONE'

/** What the file system answers when the fault is not in the request. */
const FILES: Readonly<Record<string, StoreProblem['kind']>> = {
  EACCES: 'away',
  EBUSY: 'away',
  EDQUOT: 'full',
  EFBIG: 'full',
  EIO: 'away',
  EMFILE: 'away',
  ENFILE: 'away',
  ENOENT: 'away',
  ENOSPC: 'full',
  ENXIO: 'away',
  EPERM: 'away',
  EROFS: 'away',
  ESTALE: 'away',
  [FILE_GONE]: 'damaged',
}

/** The thread that had a file open has ended. Its last calls may have been done. */
export class StoreThreadEnded extends Error {}

/** What an error of SQLite or of the file system says of the disk; undefined: the disk is not to blame. */
export function diskProblem(error: unknown): StoreProblem | undefined {
  if (error instanceof StoreThreadEnded) return { kind: 'away', text: error.message, outcomeUnknown: true }
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const kind =
    error.code === 'ERR_SQLITE_ERROR' && 'errcode' in error
      ? SQLITE[(error.errcode as number) & 0xff]
      : FILES[String(error.code)]
  return kind && { kind, text: error.message }
}
