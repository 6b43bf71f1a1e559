import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { folderEncryptionKey } from '#services/identity/adapters/encryption-key.ts'
import { JoseSignatures } from '#services/identity/adapters/jose-signatures.ts'
import { MongoSigningKeys } from '#services/identity/adapters/mongo/signing-keys.ts'
import { SQLITE } from '#services/identity/adapters/schema.ts'
import { SqliteSigningKeys } from '#services/identity/adapters/sqlite/signing-keys.ts'
import type { Grant } from '#services/identity/domain/access-token.ts'
import type { SigningKeys } from '#services/identity/ports/signing-keys.ts'
import { AccessTokens } from '#services/identity/run/access-token/access-tokens.ts'
import { KeyRing } from '#services/identity/run/access-token/key-ring.ts'
import { KeySeal } from '#services/identity/run/access-token/key-seal.ts'
import type { Clock } from '#shared/clock.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { silentLogger } from '#test/support/transports.ts'

/** Keys to encrypt with, in base64. */
export const [KEY_A, KEY_B] = ['a', 'b'].map((letter) => Buffer.alloc(32, letter).toString('base64')) as [
  string,
  string,
]

/** The issuer of the tokens in these tests. */
export const ISSUER = 'https://portico.example'

/** One of several replicas. */
export interface Replica {
  readonly ring: KeyRing
  readonly tokens: AccessTokens
}

/** A store of signing keys, and replicas that use it. */
export interface SigningStore extends AsyncDisposable {
  readonly directory: string
  readonly store: SigningKeys
  /** How often the keys were read. */
  readonly reads: { count: number }
  /** The time of all replicas in milliseconds; a test moves it. */
  readonly clock: Clock & { time: number }
  /** Opens one with these encryption keys; with none, it cannot sign. */
  replica(keys?: readonly string[], logger?: Logger): Promise<Replica>
}

/** A store of its own; its clock stands at 2026-01-01. */
export async function openSigningStore(): Promise<SigningStore> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-signing-'))
  const file = new SqliteFile(join(directory, 'identity.sqlite'), { schema: SQLITE, exclusive: false })
  const keys = new SqliteSigningKeys(file)
  const reads = { count: 0 }
  const store: SigningKeys = {
    list() {
      reads.count += 1
      return keys.list()
    },
    revise: (decide) => keys.revise(decide),
  }
  const clock = { time: Date.UTC(2026, 0, 1), now: () => clock.time, monotonic: () => clock.time }
  return {
    directory,
    store,
    reads,
    clock,
    async replica(given = [KEY_A], logger = silentLogger) {
      const seal = given.length === 0 ? undefined : new KeySeal({ keys: given, source: 'THE_SETTING' })
      const ring = await KeyRing.open({ store, seal, clock, logger })
      return { ring, tokens: new AccessTokens({ signatures: new JoseSignatures(), ring, issuer: ISSUER, clock }) }
    },
    async [Symbol.asyncDispose]() {
      await file[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

/** Where signing keys are stored: a data folder, or a database. */
export type SigningPlace = { readonly directory: string } | { readonly uri: string; readonly database: string }

/**
 * Opens the keys of a place as another replica would: with the key of its folder, which is created if missing, or with
 * `KEY_A`.
 */
export async function openRing(
  place: SigningPlace,
  clock: Clock,
): Promise<{ readonly ring: KeyRing } & AsyncDisposable> {
  const stack = new AsyncDisposableStack()
  const isFolder = 'directory' in place
  const store = isFolder
    ? new SqliteSigningKeys(
        stack.use(new SqliteFile(join(place.directory, 'identity.sqlite'), { schema: SQLITE, exclusive: false })),
      )
    : new MongoSigningKeys(stack.use(await openMongo(place)))
  const keys = [isFolder ? folderEncryptionKey(place.directory, false) : KEY_A]
  const seal = new KeySeal({ keys, source: 'the test' })
  const ring = await KeyRing.open({ store, seal, clock, logger: silentLogger })
  return { ring, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/** Mints and verifies tokens beside an identity service whose store is in a folder. */
export async function openBeside(
  directory: string,
  clock: Clock,
  issuer = 'http://127.0.0.1:4096',
): Promise<Replica & AsyncDisposable> {
  const opened = await openRing({ directory }, clock)
  return { ...opened, tokens: new AccessTokens({ signatures: new JoseSignatures(), ring: opened.ring, issuer, clock }) }
}

/** The exchange at some moment that a token is for; the subject token lives for a day. */
export function grantAt(now: number, more: Partial<Grant> = {}): Grant {
  return {
    subject: 'a workload',
    subjectExpires: now / 1_000 + 86_400,
    policyId: 'a policy',
    issuerId: 'iss_one',

    target: { workspaceId: 'wrk_one', keyId: 'key_one' },
    keyExpires: undefined,
    ...more,
  }
}

/** Mints a token now. */
export async function mintNow(
  { clock }: { readonly clock: { readonly time: number } },
  { tokens }: Pick<Replica, 'tokens'>,
  more: Partial<Grant> = {},
): Promise<string> {
  const minted = await tokens.mint(grantAt(clock.time, more))
  if (minted === undefined) throw new Error('no token was made')
  return minted.token
}
