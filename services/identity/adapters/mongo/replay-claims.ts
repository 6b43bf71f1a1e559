import { MongoServerError } from 'mongodb'
import type { ReplayClaims, TokenUse } from '#services/identity/ports/replay-claims.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { CLAIM_KEPT_MS, useHash } from '../stored/use-hash.ts'
import type { Collections } from './documents.ts'

const DUPLICATE_KEY = 11_000

/** Claimed tokens in MongoDB, which forgets them by itself. */
export class MongoReplayClaims implements ReplayClaims {
  readonly #collections: Collections

  constructor(collections: Collections) {
    this.#collections = collections
  }

  async claim(use: TokenUse, until: number): Promise<boolean> {
    const document = { _id: useHash(use), until: new Date(Math.ceil(until) + CLAIM_KEPT_MS) }
    try {
      await this.#collections.replayClaims.insertOne(document, { maxTimeMS: MAX_TIME_MS })
      return true
    } catch (error) {
      if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return false
      throw error
    }
  }
}
