import type { NewId } from '#services/session/domain/revision.ts'
import type { Clock } from '#shared/clock.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import type { Collections } from './collections.ts'
import type { MongoNotices } from './notices.ts'
import type { MongoQueue } from './queue.ts'

/** What the objects that implement the port share. */
export interface StoreParts {
  readonly mongo: Mongo
  readonly collections: Collections
  readonly queue: MongoQueue
  readonly notices: MongoNotices
  readonly clock: Clock
  readonly newId: NewId
}
