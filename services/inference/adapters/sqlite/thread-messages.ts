import { type AnyReason, Rejection } from '#shared/rejection.ts'
import type { LedgerFile } from './ledger-file.ts'

export type Method = Exclude<keyof LedgerFile, typeof Symbol.asyncDispose>

export interface ThreadCall {
  readonly id: number
  readonly method: Method | 'dispose'
  readonly args: readonly unknown[]
}

/** The result of a call. */
export type ThreadAnswer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: SentError }

/** An error on its way between threads, which would lose its class and most of its members. */
interface SentError {
  readonly message: string
  readonly stack: string | undefined
  readonly rejected?: { readonly reason: AnyReason; readonly metadata: Readonly<Record<string, string>> }
  /** As SQLite and the file system set them. */
  readonly codes: { readonly code?: unknown; readonly errcode?: unknown }
}

export function toSentError(error: unknown): SentError {
  if (!(error instanceof Error)) return { message: String(error), stack: undefined, codes: {} }
  const { message, stack } = error
  if (error instanceof Rejection) {
    const { reason, metadata } = error
    return { message, stack, rejected: { reason, metadata }, codes: {} }
  }
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown }
  return { message, stack, codes: { ...(code !== undefined && { code }), ...(errcode !== undefined && { errcode }) } }
}

export function fromSentError({ message, stack, rejected, codes }: SentError): Error {
  if (rejected !== undefined) return new Rejection(rejected.reason, rejected.metadata)
  const error = Object.assign(new Error(message), codes)
  if (stack !== undefined) error.stack = stack
  return error
}
