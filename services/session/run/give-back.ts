import { Rejection } from '#shared/rejection.ts'
import { isStoreUnavailable, STORE_AGAIN_MS } from '#shared/stores/store-outage.ts'
import { type GivingBack, giveBack } from '../domain/run.ts'
import type { Lease } from '../ports/lease.ts'
import { nothing } from '../ports/session-store.ts'
import type { RunDependencies } from './run-context.ts'

/** If a lease could not be given back for this long, its acquisition counts. */
const PATIENCE_MS = 3_600_000

/**
 * Gives a lease back, even if it has been lost. While the store is unavailable, this is retried in the background, and
 * the acquisition does not count once it succeeds. Never throws.
 */
export async function giveLeaseBack(dependencies: RunDependencies, lease: Lease, how: GivingBack = {}): Promise<void> {
  if (!(await isGivenBack(dependencies, lease, how))) void keepTrying(dependencies, lease, { ...how, counts: false })
}

/** False: the store is away. */
async function isGivenBack(
  { store, logger, closing }: RunDependencies,
  lease: Lease,
  how: GivingBack,
): Promise<boolean> {
  try {
    // Not under the lease, which may be lost by now: it does not count all the same.
    const { workspace, sessionId, fence } = lease
    await store.revise({ workspace, sessionId }, nothing, (revision) => giveBack(revision, fence, how))
  } catch (error) {
    if (isStoreUnavailable(error)) return false
    if (isRemoved(error)) return true
    if (!closing.aborted) logger.warn({ err: error, sessionId: lease.sessionId }, 'A lease could not be given back')
  }
  return true
}

function isRemoved(error: unknown): boolean {
  return error instanceof Rejection && error.reason === 'SESSION_NOT_FOUND'
}

async function keepTrying(dependencies: RunDependencies, lease: Lease, how: GivingBack): Promise<void> {
  const signal = AbortSignal.any([dependencies.closing, AbortSignal.timeout(PATIENCE_MS)])
  const waited = (): Promise<boolean> =>
    dependencies.pause(STORE_AGAIN_MS, signal).then(
      () => true,
      () => false,
    )
  while (await waited()) {
    if (dependencies.health.state().ok && (await isGivenBack(dependencies, lease, how))) return
  }
}
