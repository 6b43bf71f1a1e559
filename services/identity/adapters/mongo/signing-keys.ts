import { Binary, type Collection, MongoServerError } from 'mongodb'
import type { SigningKey } from '#services/identity/domain/signing-key.ts'
import type { SigningKeys } from '#services/identity/ports/signing-keys.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'

/** All keys are one document, so that they are replaced at once, and only if nobody else has changed them. */
interface SigningKeysDocument {
  readonly _id: 'signing-keys'
  /** Incremented by each change. */
  readonly revision: number
  readonly keys: readonly (Omit<SigningKey, 'sealed'> & { readonly sealed: Binary })[]
}

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const
const DUPLICATE_KEY = 11_000

export class MongoSigningKeys implements SigningKeys {
  readonly #documents: Collection<SigningKeysDocument>

  constructor({ db }: Pick<Mongo, 'db'>) {
    this.#documents = db.collection('identity.signing_keys')
  }

  async list(): Promise<readonly SigningKey[]> {
    return (await this.#read()).keys
  }

  async revise(decide: Parameters<SigningKeys['revise']>[0]): ReturnType<SigningKeys['revise']> {
    // Each turn loses only to a committed change of somebody else.
    for (;;) {
      const { revision, keys } = await this.#read()
      const after = decide(keys)
      if (after === undefined) return keys
      if (await this.#replace(revision, after)) return after
    }
  }

  async #read(): Promise<{ readonly revision: number; readonly keys: readonly SigningKey[] }> {
    const document = await this.#documents.findOne({ _id: 'signing-keys' }, LIMIT)
    if (document === null) return { revision: 0, keys: [] }
    const keys = document.keys.map(({ sealed, ...key }) => ({ ...key, sealed: sealed.value() }))
    return { revision: document.revision, keys }
  }

  /** Whether nobody else was faster. */
  async #replace(revision: number, keys: readonly SigningKey[]): Promise<boolean> {
    const sealed = keys.map((key) => ({ ...key, sealed: new Binary(key.sealed) }))
    try {
      const { matchedCount, upsertedCount } = await this.#documents.updateOne(
        { _id: 'signing-keys', revision },
        { $set: { revision: revision + 1, keys: sealed } },
        { upsert: revision === 0, ...LIMIT },
      )
      return matchedCount + upsertedCount > 0
    } catch (error) {
      if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return false
      throw error
    }
  }
}
