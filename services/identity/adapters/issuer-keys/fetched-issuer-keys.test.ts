import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { IssuerSchema, type IssuerSettings, IssuerSettingsSchema } from '#gen/portico/identity/v1/federation_pb.js'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import type { FetchAttempt, FetchedIssuer } from '#services/identity/ports/issuer-health.ts'
import type { KeyHint } from '#services/identity/ports/issuer-keys.ts'
import { JWKS_PATH, json, publishes, startIssuer, type TestIssuer } from '#test/support/https-issuer.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { FetchedIssuerKeys, type FetchLimits } from './fetched-issuer-keys.ts'

const NEVER_MS = 3_600_000
/** In these tests nothing times out, unless a test says so. */
const PATIENT = { unknownMs: NEVER_MS, knownMs: NEVER_MS }

const keyOf = (kid: string) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...publicKey.export({ format: 'jwk' }), kid }
}
const [one, two] = [keyOf('one'), keyOf('two')]
const named = (kid: string): KeyHint => ({ algorithm: 'ES256', kid })

type KeySource = IssuerSettings['keySource']
type Given = Partial<Pick<Issuer, 'issuerId' | 'organizationId' | 'revision'> & { keySource: KeySource }>

/** An issuer of an organization whose keys come from a server, by discovery. */
const issuerOf = ({ url: issuerUrl }: { readonly url: string }, { keySource, ...rest }: Given = {}): Issuer => {
  const settings = create(IssuerSettingsSchema, { name: 'an issuer', issuerUrl, keySource })
  return { ...create(IssuerSchema, { issuerId: 'iss_1', organizationId: 'org_1', revision: 1, ...rest }), settings }
}

interface Tested extends AsyncDisposable {
  readonly keys: FetchedIssuerKeys
  /** Advances the clock. */
  pass(milliseconds: number): void
  readonly recorded: (FetchedIssuer & FetchAttempt)[]
  /** Coordinates of the keys that were found, or the kind of the other results. */
  found(issuer: Issuer, hint?: KeyHint): Promise<unknown>
}

function openKeys(server: Pick<TestIssuer, 'network'>, limits: Partial<FetchLimits> = {}): Tested {
  const clock = { time: 1_000_000, now: () => 1_700_000_000_000 + clock.time, monotonic: () => clock.time }
  const recorded: Tested['recorded'] = []
  const keys = new FetchedIssuerKeys({
    ...{ clock, logger: silentLogger, networks: [server.network], ownOrigin: 'https://portico.example' },
    health: { record: async (issuer, attempt) => void recorded.push({ ...issuer, ...attempt }) },
    limits: { fetchMs: NEVER_MS, patience: PATIENT, ...limits },
  })
  return {
    keys,
    recorded,
    pass: (milliseconds) => {
      clock.time += milliseconds
    },
    found: async (issuer, hint = named('one')) => {
      const answer = await keys.candidates(issuer, hint)
      if (answer.kind === 'unavailable') return `unavailable for ${answer.retryAfterSeconds} s`
      return answer.keys.map((key) => ('x' in key ? key.x : key.n))
    },
    [Symbol.asyncDispose]: () => keys[Symbol.asyncDispose](),
  }
}

/** How many requests a server got for its discovery document and for its keys. */
const asked = ({ seen }: TestIssuer) => [
  seen.filter(({ path }) => path !== JWKS_PATH).length,
  seen.filter(({ path }) => path === JWKS_PATH).length,
]

/** An issuer that publishes these keys, unless it is down. */
async function publisher(...keys: readonly object[]) {
  const server = await startIssuer()
  const state = { keys, down: false }
  const answer = publishes(server.url, () => state.keys)
  server.answer = (path, response) => (state.down ? response.writeHead(503).end() : answer(path, response))
  return Object.assign(server, { state })
}

test('50 first requests at once make one discovery and one fetch of keys', async () => {
  await using server = await publisher(one)
  await using tested = openKeys(server)
  const found = await Promise.all(Array.from({ length: 50 }, () => tested.found(issuerOf(server))))
  assert.deepEqual(found, Array(50).fill([one.x]))
  assert.deepEqual(asked(server), [1, 1])
})

test('an unknown kid causes no fetch within 30 s of the last success; 30 at once after that cause one', async () => {
  await using server = await publisher(one)
  await using tested = openKeys(server)
  const issuer = issuerOf(server)
  assert.deepEqual(await tested.found(issuer), [one.x])
  server.state.keys = [one, two]
  tested.pass(29_999)
  for (const kid of ['two', '', '__proto__', 'x'.repeat(8_000)])
    assert.deepEqual(await tested.found(issuer, named(kid)), [])
  assert.deepEqual(asked(server), [1, 1])
  tested.pass(1)
  const found = await Promise.all(Array.from({ length: 30 }, () => tested.found(issuer, named('two'))))
  assert.deepEqual(found, Array(30).fill([two.x]))
  assert.deepEqual(asked(server), [2, 2])
  // Each issuer has its own time limit.
  assert.deepEqual(await tested.found(issuerOf(server, { issuerId: 'iss_2' }), named('three')), [])
  assert.deepEqual(asked(server), [3, 3])
})

test('a failing endpoint is fetched once for each step of the back-off: 1 s, doubled up to a minute', async () => {
  await using server = await publisher(one)
  server.state.down = true
  await using tested = openKeys(server)
  const issuer = issuerOf(server)
  let fetches = 0
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    fetches += 1
    const found = await Promise.all(Array.from({ length: 10 }, () => tested.found(issuer)))
    assert.deepEqual(found, Array(10).fill(`unavailable for ${seconds} s`))
    for (const waited of [0, seconds * 1_000 - 1]) {
      tested.pass(waited)
      assert.equal(await tested.found(issuer), `unavailable for ${waited === 0 ? seconds : 1} s`)
      assert.deepEqual(asked(server), [fetches, 0])
    }
    tested.pass(1)
  }
  server.state.down = false
  assert.deepEqual(await tested.found(issuer), [one.x])
  server.state.down = true
  tested.pass(30_000)
  assert.equal(await tested.found(issuer, named('two')), 'unavailable for 1 s')
})

test('an unknown kid causes no fetch from a failing endpoint before its next try', async () => {
  await using server = await publisher(one)
  await using tested = openKeys(server)
  const issuer = issuerOf(server)
  await tested.found(issuer)
  server.state.down = true
  tested.pass(30_000)
  for (let i = 0; i < 10; i++) assert.equal(await tested.found(issuer, named('two')), 'unavailable for 1 s')
  assert.deepEqual(asked(server), [2, 1])
  assert.deepEqual(await tested.found(issuer), [one.x])
})

test('known keys are used for up to an hour while the endpoint fails, without waiting for it', async () => {
  await using server = await publisher(one)
  await using tested = openKeys(server)
  const issuer = issuerOf(server)
  await tested.found(issuer)
  server.state.down = true
  tested.pass(600_000)
  // The first one waits for what the issuer says now.
  assert.deepEqual(await tested.found(issuer), [one.x])
  assert.deepEqual(asked(server), [2, 1])
  server.answer = () => {}
  for (let minutes = 11; minutes < 60; minutes++) {
    tested.pass(60_000)
    assert.deepEqual(await tested.found(issuer), [one.x])
  }
  tested.pass(59_999)
  assert.deepEqual(await tested.found(issuer), [one.x])
  await waitFor('one fetch hangs', () => server.open === 1)
  tested.pass(1)
  const waiting = tested.found(issuer)
  await tested.keys[Symbol.asyncDispose]()
  assert.match(String(await waiting), /unavailable/)
})

test('known keys are fetched again before they are old, and a withdrawn key is no longer used', async () => {
  await using server = await publisher(one)
  await using tested = openKeys(server)
  const issuer = issuerOf(server)
  await tested.found(issuer)
  server.state.keys = [two]
  tested.pass(299_999)
  assert.deepEqual(await tested.found(issuer), [one.x])
  assert.deepEqual(asked(server), [1, 1])
  tested.pass(1)
  // Nobody waits for that fetch.
  assert.deepEqual(await tested.found(issuer), [one.x])
  await waitFor('the keys were fetched again', () => tested.recorded.length === 2)
  assert.deepEqual(await tested.found(issuer), [])
  assert.deepEqual(await tested.found(issuer, named('two')), [two.x])
  // After 10 minutes without a request.
  server.state.keys = []
  tested.pass(600_000)
  assert.deepEqual(await tested.found(issuer, named('two')), [])
})

test('an issuer may declare that its keys stay fresh for less than 10 minutes, but not for less than one', async () => {
  for (const [cacheControl, freshMs] of [
    ['max-age=120', 120_000],
    ['no-store', 60_000],
    ['max-age=1', 60_000],
    ['max-age=86400', 600_000],
  ] as const) {
    await using server = await publisher()
    const jwks_uri = `${server.url}${JWKS_PATH}`
    let keys = [one]
    server.answer = (path, response) => {
      if (path === JWKS_PATH) json(response, { keys }, { 'cache-control': cacheControl })
      else json(response, { issuer: server.url, jwks_uri })
    }
    await using tested = openKeys(server)
    const issuer = issuerOf(server)
    await tested.found(issuer)
    keys = [two]
    tested.pass(freshMs / 2 - 1)
    assert.deepEqual(await tested.found(issuer), [one.x])
    assert.deepEqual(asked(server), [1, 1], cacheControl)
    tested.pass(freshMs / 2 + 1)
    assert.deepEqual(await tested.found(issuer), [])
  }
})

test('the answer says whether the caller had to wait for keys', async () => {
  await using server = await publisher(one)
  await using tested = openKeys(server)
  const waited = async (hint = named('one')) => {
    const answer = await tested.keys.candidates(issuerOf(server), hint)
    return answer.kind === 'found' && answer.waited
  }
  assert.deepEqual(await Promise.all([waited(), waited()]), [true, true])
  assert.deepEqual([await waited(), await waited(named('two'))], [false, false])
  tested.pass(600_000)
  assert.equal(await waited(), false)
  tested.pass(30_000)
  assert.equal(await waited(named('two')), true)
})

test('known keys that are no longer fresh are waited for only briefly', async () => {
  await using server = await publisher(one)
  await using tested = openKeys(server, { patience: { unknownMs: NEVER_MS, knownMs: 10 } })
  const issuer = issuerOf(server)
  await tested.found(issuer)
  server.answer = () => {}
  tested.pass(600_000)
  assert.deepEqual(await tested.found(issuer), [one.x])
  await waitFor('the request to arrive', () => server.open === 1)
})

test('a hanging endpoint is given up, and its waiters are answered', async () => {
  await using server = await startIssuer()
  server.answer = () => {}
  await using given = openKeys(server, { fetchMs: 50 })
  assert.equal(await given.found(issuerOf(server)), 'unavailable for 1 s')
  assert.match(given.recorded[0]?.failure ?? '', /did not arrive within 0.05 s/)
  await using impatient = openKeys(server, { patience: { unknownMs: 10, knownMs: NEVER_MS } })
  const answer = await impatient.keys.candidates(issuerOf(server), named('one'))
  assert.deepEqual(answer, { kind: 'unavailable', problem: 'the keys are still being fetched', retryAfterSeconds: 1 })
})

test('the keys and failures of an issuer of one organization do not affect another organization', async () => {
  await using server = await publisher(one)
  await using other = await startIssuer()
  other.answer = (_path, response) => json(response, { keys: [{ ...two, kid: 'one' }] })
  await using tested = openKeys(server)
  const url: KeySource = { case: 'jwksUrl', value: `${server.url}${JWKS_PATH}` }
  const mine = issuerOf(server, { keySource: url })
  const inline: KeySource = { case: 'jwks', value: JSON.stringify({ keys: [{ ...two, kid: 'one' }] }) }
  const theirs = issuerOf(server, { organizationId: 'org_2', keySource: inline })
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(await tested.found(mine), [one.x])
    assert.deepEqual(await tested.found(theirs), [two.x])
    assert.deepEqual(await tested.found({ ...theirs, issuerId: 'iss_2' }), [two.x])
  }
  assert.deepEqual(asked(server), [0, 1])
  // Nor do the failures of one issuer affect another.
  server.state.down = true
  for (const organizationId of ['org_3', 'org_4']) {
    assert.equal(await tested.found({ ...mine, organizationId }), 'unavailable for 1 s')
  }
  assert.deepEqual(asked(server), [0, 3])
})

test('a change of an issuer counts from its next use on, and its earlier keys, failures and times no longer do', async () => {
  await using server = await publisher(one)
  await using moved = await publisher(two)
  await using tested = openKeys({ network: { ...server.network, caFile: undefined } })
  await using trusting = openKeys(server)
  const keySource: KeySource = { case: 'jwksUrl', value: `${server.url}${JWKS_PATH}` }
  assert.deepEqual(await trusting.found(issuerOf(server)), [one.x])
  const elsewhere = { case: 'jwks', value: JSON.stringify({ keys: [{ ...two, kid: 'one' }] }) } as const
  assert.deepEqual(await trusting.found(issuerOf(server, { revision: 2, keySource: elsewhere })), [two.x])
  server.state.keys = [{ ...two, kid: 'one' }]
  assert.deepEqual(await trusting.found(issuerOf(server, { revision: 3, keySource })), [two.x])
  assert.deepEqual(asked(server), [1, 2])
  // Also those of one that failed.
  assert.equal(await tested.found(issuerOf(moved)), 'unavailable for 1 s')
  assert.equal(await tested.found(issuerOf(moved)), 'unavailable for 1 s')
  assert.equal(tested.recorded.length, 1)
  assert.equal(await tested.found(issuerOf(moved, { revision: 2 })), 'unavailable for 1 s')
  assert.equal(tested.recorded.length, 2)
})

test('a deleted issuer has no fetch waiting and no keys left', async () => {
  await using server = await startIssuer()
  server.answer = () => {}
  await using tested = openKeys(server)
  for (let i = 0; i < 4; i++) void tested.found(issuerOf(server, { issuerId: `iss_hangs_${i}` }))
  await waitFor('4 of them hang', () => server.open === 4)
  const deleted = issuerOf(server, { issuerId: 'iss_deleted' })
  const waiting = tested.found(deleted)
  tested.keys.forget({ ...deleted, organizationId: 'org_2' })
  assert.equal(tested.recorded.length, 0)
  tested.keys.forget(deleted)
  assert.equal(await waiting, 'unavailable for 1 s')
  assert.deepEqual(
    tested.recorded.map(({ failure }) => failure),
    ['the issuer was deleted meanwhile'],
  )
  const inline: KeySource = { case: 'jwks', value: JSON.stringify({ keys: [one] }) }
  const known = issuerOf(server, { revision: 2, keySource: inline })
  assert.deepEqual(await tested.found(known), [one.x])
  tested.keys.forget(known)
  assert.deepEqual(await tested.found(issuerOf(server, { keySource: { case: 'jwks', value: '{"keys":[]}' } })), [])
})

test('inline keys are used as they were saved, and nothing is fetched', async () => {
  await using server = await publisher(one)
  await using tested = openKeys(server)
  let revision = 0
  const inline = (jwks: string) => issuerOf(server, { keySource: { case: 'jwks', value: jwks }, revision: ++revision })
  const issuer = inline(JSON.stringify({ keys: [one, two] }))
  const hint = { algorithm: 'ES256', kid: undefined } as const
  assert.deepEqual(await tested.found(issuer), [one.x])
  assert.deepEqual(await tested.found(issuer, hint), [])
  assert.deepEqual(await tested.found(inline('not JSON')), [])
  assert.deepEqual([asked(server), tested.recorded], [[0, 0], []])
  const [first, second] = await Promise.all([1, 2].map(() => tested.keys.candidates(issuer, named('one'))))
  assert.ok(first?.kind === 'found' && second?.kind === 'found' && first.keys[0] === second.keys[0])
})

test('at most 4 fetches of one organization run at once, and 32 in all', async () => {
  await using server = await startIssuer()
  server.answer = () => {}
  await using tested = openKeys(server)
  const ask = (organizationId: string, count: number) => {
    for (let i = 0; i < count; i++) void tested.found(issuerOf(server, { organizationId, issuerId: `iss_${i}` }))
  }
  ask('org_1', 50)
  await waitFor('those of the first one began', () => server.open === 4)
  for (let i = 2; i <= 7; i++) ask(`org_${i}`, 20)
  await waitFor('those of 7 began', () => server.open === 28)
  for (let i = 8; i <= 20; i++) ask(`org_${i}`, 3)
  await waitFor('as many as may have begun', () => server.open === 32)
  assert.equal(server.seen.length, 32)
})

test('200 hanging issuers of one organization delay no other organization, and none whose keys are known', async () => {
  await using server = await startIssuer()
  const answer = publishes(server.url, () => [one])
  server.answer = (path, response) => (path === '/hang' ? undefined : answer(path, response))
  await using tested = openKeys(server, { patience: { unknownMs: NEVER_MS, knownMs: 10 } })
  const known = issuerOf(server, { issuerId: 'iss_known' })
  assert.deepEqual(await tested.found(known), [one.x])
  const keySource: KeySource = { case: 'jwksUrl', value: `${server.url}/hang` }
  for (let i = 0; i < 200; i++) void tested.found(issuerOf(server, { issuerId: `iss_${i}`, keySource }))
  await waitFor('4 of them hang', () => server.open === 4)
  for (let i = 2; i < 30; i++) {
    assert.deepEqual(await tested.found(issuerOf(server, { organizationId: `org_${i}` })), [one.x])
  }
  assert.deepEqual(await tested.found(known), [one.x])
  // Also if they need to be fetched again, which has to wait for the others.
  tested.pass(600_000)
  assert.deepEqual(await tested.found(known), [one.x])
  assert.deepEqual([server.open, server.seen.filter(({ path }) => path === '/hang').length], [4, 4])
})

test('fetches of earlier revisions of an issuer wait no more, and an earlier one that comes late fetches nothing', async () => {
  await using server = await startIssuer()
  const hanging: ServerResponse[] = []
  server.answer = (_path, response) => hanging.push(response)
  await using tested = openKeys(server)
  for (let i = 0; i < 4; i++) void tested.found(issuerOf(server, { issuerId: `iss_hangs_${i}` }))
  await waitFor('4 of them hang', () => server.open === 4)
  const keySource = (revision: number) => ({ case: 'jwksUrl', value: `${server.url}/${revision}` }) as const
  const issuer = (revision: number) => issuerOf(server, { revision, keySource: keySource(revision) })
  const waiting = Array.from({ length: 50 }, (_, revision) => tested.found(issuer(revision)))
  const last = waiting.pop()
  assert.deepEqual(await Promise.all(waiting), Array(49).fill('unavailable for 1 s'))
  const problems = new Set(tested.recorded.map(({ failure }) => failure))
  assert.deepEqual([tested.recorded.length, ...problems], [49, 'the issuer was changed meanwhile'])
  const late = tested.keys.candidates(issuer(3), named('one'))
  server.answer = (_path, response) => json(response, { keys: [one] })
  for (const response of hanging) response.destroy()
  assert.deepEqual(await last, [one.x])
  const answer = await late
  assert.ok(answer.kind === 'found' && answer.waited && answer.keys.length === 1)
  const answered = await tested.keys.candidates(issuer(3), named('one'))
  assert.ok(answered.kind === 'found' && answered.waited)
  assert.deepEqual(
    server.seen.map(({ path }) => path).filter((path) => path.length < 5),
    ['/49'],
  )
})

test('oversized key sets of two organizations evict no key of a third', async () => {
  await using server = await publisher(one)
  await using tested = openKeys(server)
  const known = issuerOf(server)
  assert.deepEqual(await tested.found(known), [one.x])
  const padding = 'x'.repeat(250_000)
  const many = Array.from({ length: 100 }, (_, index) => ({ ...two, kid: `${index}${'k'.repeat(2_000)}` }))
  for (const [revision, keys] of [[{ ...two, padding }], many, [{ ...two, kid: padding }]].entries()) {
    const keySource = { case: 'jwks', value: JSON.stringify({ keys }) } as const
    for (const organizationId of ['org_2', 'org_3']) {
      for (let i = 0; i < 70; i++) {
        await tested.found(issuerOf(server, { organizationId, issuerId: `iss_${i}`, keySource, revision }))
      }
    }
  }
  assert.deepEqual(await tested.found(known), [one.x])
  assert.deepEqual(asked(server), [1, 1])
})

test('each fetch is recorded, with the time when it ended, its failure, and the time of the next try', async () => {
  await using server = await publisher(one)
  await using tested = openKeys(server)
  const issuer = issuerOf(server, { revision: 7 })
  const who = { organizationId: 'org_1', issuerId: 'iss_1', revision: 7 }
  const time = 1_700_001_000_000
  const attempts = async (attempt: FetchAttempt) => {
    await tested.found(issuer)
    assert.deepEqual(tested.recorded.splice(0), [{ ...who, ...attempt }])
  }
  server.state.down = true
  const failure = `${server.url}/.well-known/openid-configuration: responded with status 503`
  await attempts({ time, failure, timeNextTry: time + 1_000 })
  tested.pass(1_000)
  await attempts({ time: time + 1_000, failure, timeNextTry: time + 3_000 })
  tested.pass(2_000)
  server.state.down = false
  await attempts({ time: time + 3_000, failure: undefined, timeNextTry: undefined })
  // That is a response, and whoever administers the issuer has to learn why nothing is accepted any more.
  server.state.keys = [{ ...one, use: 'enc' }]
  tested.pass(600_000)
  const unusable = 'No key can be used; key 1: its use is not sig'
  await attempts({ time: time + 603_000, failure: unusable, timeNextTry: undefined })
})

test('the record is a line of at most 300 characters, and an exchange goes on if it cannot be written', async () => {
  await using server = await publisher(one)
  const clock = { now: () => 0, monotonic: () => 0 }
  const failures: string[] = []
  const health = {
    record: async (_issuer: FetchedIssuer, { failure }: FetchAttempt) => {
      failures.push(failure ?? '')
      throw new Error('The store is unavailable')
    },
  }
  const rest = { clock, logger: silentLogger, health, networks: [server.network], ownOrigin: undefined }
  await using keys = new FetchedIssuerKeys(rest)
  const url = `${server.url}/${'a'.repeat(1_900)}`
  const long = await keys.candidates(issuerOf({ url }), named('one'))
  assert.equal(long.kind, 'unavailable')
  assert.match(failures[0] ?? '', /^https:.{190,240}: it is the document of another issuer$/)
  assert.equal((await keys.candidates(issuerOf(server, { issuerId: 'iss_2' }), named('one'))).kind, 'found')
})

test('a stop ends what is being fetched and waits for its record', async () => {
  await using server = await startIssuer()
  server.answer = () => {}
  await using tested = openKeys(server)
  const waiting = Array.from({ length: 10 }, (_, i) => tested.found(issuerOf(server, { issuerId: `iss_${i}` })))
  await waitFor('some hang', () => server.open === 4)
  await tested.keys[Symbol.asyncDispose]()
  assert.deepEqual(await Promise.all(waiting), Array(10).fill('unavailable for 1 s'))
  assert.equal(tested.recorded.length, 10)
  await waitFor('their connections are closed', () => server.open === 0)
})

test('an issuer that cannot be saved is reported with the field at fault', async () => {
  await using server = await startIssuer()
  await using tested = openKeys(server)
  const problem = (url: string, keySource: KeySource) =>
    tested.keys.problemOf(issuerOf({ url }, { keySource }).settings)
  const [url, discovery] = ['https://issuer.example', { case: undefined }] as const
  assert.equal(problem(url, discovery), undefined)
  assert.equal(problem(server.url, discovery), undefined)
  assert.equal(problem(url, { case: 'jwksUrl', value: 'https://keys.example/jwks?v=1' }), undefined)
  assert.equal(problem(url, { case: 'jwks', value: JSON.stringify({ keys: [one] }) }), undefined)
  for (const bad of [
    'http://issuer.example',
    'https://192.0.2.1',
    'https://portico.example/x',
    'https://a.example?x',
  ]) {
    assert.equal(problem(bad, discovery)?.field, 'issuer_url')
  }
  for (const bad of ['http://keys.example', 'https://192.0.2.1', 'https://portico.example/api/v1/oauth/jwks']) {
    assert.equal(problem(url, { case: 'jwksUrl', value: bad })?.field, 'jwks_url')
  }
  assert.equal(problem(url, { case: 'jwks', value: '{}' })?.field, 'jwks')
  assert.equal(server.connections, 0)
})
