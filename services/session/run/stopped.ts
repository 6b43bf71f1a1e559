import { Rejection } from '#shared/rejection.ts'

/** Why a drain has to stop: its lease is lost, the user interrupted the run, or the process is going to end. */
export type StopReason = 'lost' | 'interrupted' | 'shutdown'

/** Thrown wherever a drain is stopped. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly reason: StopReason

  constructor(reason: StopReason) {
    super(`The drain was stopped: ${reason}`)
    this.reason = reason
  }
}

/** Whether a store refused because the lease is no longer ours. */
export function isLeaseLost(error: unknown): boolean {
  return error instanceof Rejection && error.reason === 'LEASE_LOST'
}
