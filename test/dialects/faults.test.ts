import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { type ProviderStub, startStub } from '#test/support/provider-stub.ts'
import { DIALECTS, type Dialect } from './dialects.ts'
import { expected, FAULTS, type Fault, IMPATIENT, outcome } from './provider-faults.ts'
import type { Upstream } from './upstreams/upstream.ts'
import { UPSTREAMS } from './upstreams.ts'

/** Whatever a provider does wrong, every dialect gets the right error in time, and every request has one row. */
let stub: ProviderStub
let portico: Portico
let fault: Fault['answer'] = () => assert.fail()
let asked = 0

before(async () => {
  stub = await startStub((response) => {
    const { path, body } = stub.seen.at(-1) ?? assert.fail()
    const upstream = UPSTREAMS.find((known) => known.path === path) ?? assert.fail(path)
    fault(response, upstream, Object(body).stream === true)
  })
  const providers = UPSTREAMS.flatMap(({ protocol }) => [
    { id: `up-${protocol}`, protocol, baseURL: `${stub.url}/v1` },
    // Nothing listens there.
    { id: `down-${protocol}`, protocol, baseURL: 'http://127.0.0.1:1/v1' },
  ])
  portico = await openPortico({
    PORTICO_CONFIG: providerConfig(providers),
    ...IMPATIENT,
  })
})

after(async () => {
  await portico[Symbol.asyncDispose]()
  await stub[Symbol.asyncDispose]()
})

/**
 * What each dialect gets from each provider; sequential where the answers are so large that they would disturb each
 * other.
 */
async function outcomes(prefix: 'up' | 'down', streamed: boolean, atOnce = true): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  const underWay: Promise<void>[] = []
  for (const dialect of DIALECTS) {
    for (const { protocol } of UPSTREAMS) {
      asked++
      const one = outcome(portico, dialect, `${prefix}-${protocol}/m`, streamed).then((said) => {
        found[`${dialect.name} × ${protocol}`] = said
      })
      underWay.push(one)
      if (!atOnce) await one
    }
  }
  await Promise.all(underWay)
  return found
}

const cells = (value: (dialect: Dialect, protocol: Upstream['protocol']) => unknown) =>
  Object.fromEntries(
    DIALECTS.flatMap((dialect) =>
      UPSTREAMS.map(({ protocol }) => [`${dialect.name} × ${protocol}`, value(dialect, protocol)]),
    ),
  )

test('a provider that cannot be reached is 502 in every dialect', async () => {
  for (const streamed of [false, true]) {
    assert.deepEqual(
      await outcomes('down', streamed),
      cells(() => 502),
    )
  }
})

for (const [name, { answer }] of Object.entries(FAULTS)) {
  test(name, async () => {
    fault = answer
    for (const streamed of [false, true]) {
      const all = cells((dialect, protocol) => expected(name, dialect, protocol, streamed))
      assert.deepEqual(
        await outcomes('up', streamed, name !== 'an endless answer'),
        all,
        streamed ? 'streamed' : 'whole',
      )
    }
  })
}

test('every request of these tests has one row', async () => {
  const authorization = `Bearer ${PORTICO_KEYS.management}`
  const response = await portico.fetch('/api/v1/activity', { headers: { authorization } })
  const { data } = (await response.json()) as { data: { requests: number }[] }
  assert.equal(
    data.reduce((sum, { requests }) => sum + requests, 0),
    asked,
  )
})
