import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoServerError,
  MongoSystemError,
  MongoTopologyClosedError,
} from 'mongodb'
import { maskCredentials } from '#shared/config/config-print.ts'
import { CommitUnknown, isLocked, isSlow, LOCKED_CODES, OutOfTime } from '#shared/stores/mongo-transactions.ts'
import type { StoreProblem } from '#shared/stores/store-health.ts'

/** Errors of the driver itself: no server, no connection, or none in time. */
const DRIVER_ERRORS = [
  MongoNetworkError,
  MongoSystemError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoTopologyClosedError,
  MongoClientClosedError,
] as const
/** Classes that the driver does not export. */
const DRIVER_NAMES = new Set(['MongoWaitQueueTimeoutError', 'MongoPoolClosedError', 'MongoStalePrimaryError'])
/** The server reports that another attempt may succeed. */
const PASSING_LABELS = ['TransientTransactionError', 'UnknownTransactionCommitResult', 'RetryableWriteError']
const OUT_OF_DISK_SPACE = 14_031

/**
 * The server's codes (https://www.mongodb.com/docs/manual/reference/error-codes/) for faults that are not the
 * request's.
 */
const AWAY = new Set([
  ...LOCKED_CODES,
  6, // HostUnreachable
  7, // HostNotFound
  18, // AuthenticationFailed
  43, // CursorNotFound
  46, // LockBusy
  64, // WriteConcernTimeout
  89, // NetworkTimeout
  91, // ShutdownInProgress
  100, // UnsatisfiableWriteConcern
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  175, // QueryPlanKilled
  189, // PrimarySteppedDown
  202, // NetworkInterfaceExceededTimeLimit
  234, // RetryChangeStream
  237, // CursorKilled
  246, // SnapshotUnavailable
  251, // NoSuchTransaction
  262, // ExceededTimeLimit
  290, // TransactionExceededLifetimeLimitSeconds
  9_001, // SocketException
  10_107, // NotWritablePrimary
  11_600, // InterruptedAtShutdown
  11_601, // Interrupted
  11_602, // InterruptedDueToReplStateChange
  13_388, // StaleConfig
  13_435, // NotPrimaryNoSecondaryOk
  13_436, // NotPrimaryOrSecondary
])

/** What an error of the driver means for MongoDB; undefined: it is not to blame. */
export function mongoProblem(error: unknown): StoreProblem | undefined {
  if (error instanceof CommitUnknown)
    return { kind: 'away', text: maskCredentials(error.message), outcomeUnknown: true }
  if (error instanceof OutOfTime) return { kind: 'away', text: error.message }
  if (!(error instanceof MongoError)) return undefined
  // The driver wraps the cause of a failed bulk write, including labels and class.
  if (error instanceof MongoBulkWriteError && error.errorResponse instanceof Error) {
    return mongoProblem(error.errorResponse)
  }
  const text = maskCredentials(error.message)
  if (error instanceof MongoServerError && codesOf(error).includes(OUT_OF_DISK_SPACE)) return { kind: 'full', text }
  const away =
    DRIVER_ERRORS.some((type) => error instanceof type) ||
    DRIVER_NAMES.has(error.name) ||
    PASSING_LABELS.some((label) => error.hasErrorLabel(label)) ||
    (error instanceof MongoServerError && codesOf(error).some((code) => AWAY.has(code)))
  if (!away) return undefined
  return isLocked(error) && !isSlow(error) ? { kind: 'away', text, locked: true } : { kind: 'away', text }
}

/** The codes of the error, and of a write that was carried out but not replicated in time. */
function codesOf(error: MongoServerError): number[] {
  const { writeConcernError } = error as { readonly writeConcernError?: { readonly code?: number } }
  return [Number(error.code), Number(writeConcernError?.code)]
}
