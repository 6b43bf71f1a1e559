import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { forEachTransport } from '#test/support/transports.ts'

forEachTransport((name, connect) => {
  test(`what gateways let through is counted together, in steps of two seconds (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { federation, clock } = identity
    const add = async (...counts: number[]) => {
      const { totals } = await federation.countExchanges({ admitted: [{ network: '10.0.0.1', counts }] })
      return totals.map(({ network, counts: [now, before] }) => ({ network, now, before }))
    }
    assert.deepEqual(await add(3), [{ network: '10.0.0.1', now: 3, before: 0 }])
    clock.time += 1_999
    assert.deepEqual(await add(2, 1), [{ network: '10.0.0.1', now: 5, before: 1 }])
    clock.time += 1
    assert.deepEqual(await add(), [{ network: '10.0.0.1', now: 0, before: 5 }])
  })

  test(`a report that is too large is refused (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const count = (admitted: { network: string; counts: number[] }[]) =>
      refusalOf(identity.federation.countExchanges({ admitted }))
    const many = Array.from({ length: 1_001 }, (_, i) => ({ network: `${i}`, counts: [] }))
    assert.equal((await count(many)).metadata.field, 'admitted')
    assert.equal((await count([{ network: '', counts: [] }])).metadata.field, 'admitted[0].network')
    assert.equal((await count([{ network: 'a', counts: Array(33).fill(1) }])).metadata.field, 'admitted[0].counts')
  })
})
