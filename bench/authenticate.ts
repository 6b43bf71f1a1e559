// What authentication adds to a request of the single process: CPU time of the gateway's call, with a key, with an
// access token that was seen before and with a new one, each beside the unavoidable work alone. Usage: node
// bench/authenticate.ts [ROUNDS]
import { createPublicKey, hash, verify } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { type AuthenticateRequest, IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { readConfig } from '#services/identity/config.ts'
import { open } from '#services/identity/open.ts'
import { systemClock } from '#shared/clock.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { grantAt, openBeside } from '#test/support/signing.ts'
import { silentLogger } from '#test/support/transports.ts'
import { type Case, compareCases } from './harness/compare-cases.ts'

const ROUNDS = Number(process.argv[2] ?? 9)
const KEYS = 64
const CALLS = 2_000

await using stack = new AsyncDisposableStack()
const directory = await mkdtemp(join(tmpdir(), 'portico-bench-'))
stack.defer(() => rm(directory, { recursive: true }))
const config = readConfig({ PORTICO_DATA_DIR: directory })
const { routes, bootstrap } = stack.use(await open(config, { clock: systemClock, logger: silentLogger }))
const client = createClient(IdentityService, createLocalTransport(routes))
const { ring, tokens } = stack.use(await openBeside(directory, systemClock))
const { organizationId, workspaceId } = bootstrap

const operator = callOptions({ principal: { organizationId, workspaceId, apiKeyId: '', kind: 'local-operator' } })
const keys: { readonly id: string; readonly secret: string }[] = []
while (keys.length < KEYS) {
  const request = { kind: Principal_Kind.WORKSPACE, name: 'of the bench' }
  const { apiKey, secret } = await client.createApiKey(request, operator)
  keys.push({ id: apiKey?.keyId ?? '', secret })
}
const mint = async (): Promise<string> => {
  const target = { workspaceId, keyId: next(keys).id }
  return (await tokens.mint(grantAt(systemClock.now(), { target })))?.token ?? ''
}

let turn = 0
const next = <T>(all: readonly T[]): T => all[turn++ % all.length] as T

/** Like the gateway: with the signal of a client that is still connected, and a deadline. */
const authenticate = (credential: AuthenticateRequest['credential']) =>
  client.authenticate({ credential }, callOptions({}, { signal: new AbortController().signal, timeoutMs: 30_000 }))
const byKey = () => authenticate({ case: 'apiKey', value: next(keys).secret })

const database = stack.use(new DatabaseSync(join(directory, 'identity.sqlite'), { readOnly: true }))
const READ =
  'SELECT k.*, w.organizationId FROM api_keys k JOIN workspaces w ON w.workspaceId = k.workspaceId WHERE k.hash = ?'
const statement = database.prepare(READ)
const bareRead = async () => statement.get(hash('sha256', next(keys).secret, 'hex'))

const seen: string[] = []
while (seen.length < KEYS) seen.push(await mint())
const bySeenToken = () => authenticate({ case: 'accessToken', value: next(seen) })

const [published] = await ring.published()
const jwk = { kty: 'EC', crv: 'P-256', x: published?.x ?? '', y: published?.y ?? '' }
const publicKey = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' } as const
const bareVerify = async () => {
  const token = next(seen)
  const dot = token.lastIndexOf('.')
  if (!verify('sha256', Buffer.from(token.slice(0, dot)), publicKey, Buffer.from(token.slice(dot + 1), 'base64url'))) {
    throw new Error('a token is not verified')
  }
}

const fresh: string[] = []
for (let round = -1; round < ROUNDS; round++) for (let call = 0; call < 2 * CALLS; call++) fresh.push(await mint())
const byNewToken = () => authenticate({ case: 'accessToken', value: fresh.pop() ?? '' })

// The first thousands of calls run while V8 still compiles.
for (const run of [bareRead, byKey, bySeenToken]) for (let call = 0; call < 10_000; call++) await run()

for (const concurrency of [1, 16]) {
  const at = (name: string, run: Case['run']): Case => ({ name, calls: CALLS, concurrency, run })
  const compare = (goal: string, ...cases: Case[]) =>
    compareCases(`${concurrency} at once, goal ${goal}`, cases, ROUNDS)
  await compare('3.0', at('hash and read, bare', bareRead), at('a key', byKey))
  await compare('2.0', at('a key', byKey), at('a token seen before', bySeenToken))
  await compare('1.6', at('verification, bare', bareVerify), at('a new token', byNewToken))
}
