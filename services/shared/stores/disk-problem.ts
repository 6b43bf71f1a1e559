import type { StoreProblem } from '#shared/stores/store-health.ts'

/** SQLite's code for a failed read or write. */
const IOERR = 10
/** SQLite's result codes (https://sqlite.org/rescode.html), without the upper bytes, which distinguish variants. */
const SQLITE: Readonly<Record<number, StoreProblem['kind']>> = {
  3: 'away', // PERM
  5: 'away', // BUSY
  6: 'away', // LOCKED
  7: 'away', // NOMEM
  8: 'away', // READONLY
  9: 'away', // INTERRUPT
  [IOERR]: 'away',
  11: 'damaged', // CORRUPT
  13: 'full', // FULL
  14: 'away', // CANTOPEN
  15: 'away', // PROTOCOL
  26: 'damaged', // NOTADB
}

/** Error code: an open file is no longer where it was. What is written to it is lost. */
export const FILE_GONE = 'STORE_FILE_GONE'

/** The file system's error codes for faults that are not the request's. */
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

/** The thread that had a file open has ended. Its last calls may have been carried out. */
export class StoreThreadEnded extends Error {}

/** What an error of SQLite or the file system means for the store; undefined: the disk is not to blame. */
export function diskProblem(error: unknown): StoreProblem | undefined {
  if (error instanceof StoreThreadEnded) return { kind: 'away', text: error.message, outcomeUnknown: true }
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const result = sqliteResult(error)
  const kind = result === undefined ? FILES[String(error.code)] : SQLITE[result]
  // SQLite also reports IOERR where it cannot enlarge the files beside a database.
  return kind && { kind, text: result === IOERR ? `${error.message} (the disk may be full)` : error.message }
}

/** SQLite's result code in an error, without its upper bytes. */
function sqliteResult(error: Error & { readonly code: unknown }): number | undefined {
  return error.code === 'ERR_SQLITE_ERROR' && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
}
