import type { StagedSession } from '#services/session/ports/session-staging.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import type { Remover } from './remover.ts'

/** Writes a staged session. If that fails, the session is given up, so that nothing of it remains. */
export async function writeStaged<T>(
  { store, remover }: { readonly store: SessionStore; readonly remover: Pick<Remover, 'wake'> },
  staged: StagedSession,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const givenUp = store
      .giveUpStaged(staged)
      .catch(() => {})
      .then(() => remover.wake())
    // Nobody has to wait a second time for an unavailable store: the staged session expires by itself.
    if (!isStoreUnavailable(error)) await givenUp
    throw error
  }
}
