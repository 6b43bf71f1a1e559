import type { Clock } from '#shared/clock.ts'
import type { StoreHealth } from '#shared/stores/store-health.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { Catalog } from '../ports/catalog.ts'
import type { SessionStore } from '../ports/session-store.ts'
import type { EventHub } from '../run/events/event-hub.ts'
import type { Remover } from '../run/lifetime/remover.ts'
import type { PromptHooks } from '../run/prompt-hooks.ts'
import type { SessionWatchers } from '../run/session-watchers.ts'
import type { Titles } from '../run/titles/titles.ts'

/** What the handlers need. */
export interface SessionDependencies {
  readonly store: SessionStore
  readonly blobs: BlobStore
  readonly catalog: Catalog
  readonly hub: EventHub
  readonly watchers: SessionWatchers
  readonly remover: Remover
  readonly titles: Pick<Titles, 'find' | 'underWay'>
  readonly health: StoreHealth
  readonly clock: Clock
  readonly logger: Logger
  readonly promptHooks: PromptHooks
}
