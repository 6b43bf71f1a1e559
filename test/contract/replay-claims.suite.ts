import assert from 'node:assert/strict'
import { ListAuditEntriesRequest_Kind as Kind } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { TokenUse } from '#services/identity/ports/audit-log.ts'
import type { Stores } from '#services/identity/ports/stores.ts'
import { accepted, entryOf } from '#test/support/audit-events.ts'
import { type MakePlace, makeOrganization, type SuiteOptions, suiteOf } from './identity-store.support.ts'

const DAY_MS = 86_400_000

/** What AuditLog promises about entries that claim their token, on any adapter. */
export function replayClaimsSuite(name: string, make: MakePlace, options: SuiteOptions): void {
  suiteOf(`Claims of the AuditLog on ${name}`, make, options, (rule) => {
    const use: TokenUse = { issuerId: 'iss_1', jti: 'one', timeExpires: Date.now() + 60_000 }
    const claim = ({ auditLog }: Stores, organizationId: string, more: Partial<TokenUse> = {}) =>
      auditLog.appendOnce(entryOf(organizationId, 10_000, accepted), { ...use, ...more })
    const entriesOf = async ({ auditLog }: Stores, organizationId: string) =>
      (await auditLog.list(organizationId, { kind: Kind.EXCHANGE_ACCEPTED }, undefined, 100)).items

    rule(
      'only one of several entries with the same token at once is written, also through several processes',
      async (opened) => {
        const { store, other } = opened
        const { organizationId } = await makeOrganization(store)
        const claims = Array.from({ length: 12 }, (_, index) => claim(index % 2 === 0 ? store : other, organizationId))
        assert.equal((await Promise.all(claims)).filter((granted) => granted).length, 1)
        assert.equal(await claim(other, organizationId), false)
        assert.equal((await entriesOf(other, organizationId)).length, 1)
      },
    )

    rule('a concurrent entry is left out only if its token was claimed before', async ({ store, other }) => {
      const { organizationId } = await makeOrganization(store)
      assert.equal(await claim(store, organizationId), true)
      const written = await Promise.all([
        store.auditLog.append(entryOf(organizationId, 1, accepted)).then(() => true),
        claim(store, organizationId),
        claim(store, organizationId, { jti: 'two' }),
        claim(store, organizationId, { jti: 'two' }),
        store.auditLog.append(entryOf(organizationId, 1, accepted)).then(() => true),
      ])
      assert.equal(written.filter(Boolean).length, 3)
      assert.equal(written[1], false)
      const positions = (await entriesOf(other, organizationId)).map(({ position }) => position)
      assert.equal(new Set(positions).size, 4)
    })

    rule('a token whose entry could not be written is not claimed', async ({ store }) => {
      const { organizationId } = await makeOrganization(store)
      const unwritable = {
        toJSON() {
          throw new Error('This cannot be written')
        },
      }
      const event = { ...accepted, value: { ...accepted.value, policyRevision: unwritable as never } }
      const entry = entryOf(organizationId, 10_000, event)
      await assert.rejects(store.auditLog.appendOnce(entry, use), /This cannot be written/)
      assert.equal(await claim(store, organizationId), true)
    })

    rule('organization, issuer and jti together identify a token', async ({ store }) => {
      const { organizationId } = await makeOrganization(store)
      const second = await makeOrganization(store)
      const uses: [string, Partial<TokenUse>][] = [
        [organizationId, {}],
        [second.organizationId, {}],
        [organizationId, { issuerId: 'iss_2' }],
        [organizationId, { jti: '' }],
        [organizationId, { jti: 'ONE' }],
        [organizationId, { jti: 'x'.repeat(10_000) }],
        [organizationId, { issuerId: 'iss_1"', jti: ',"one' }],
        [organizationId, { issuerId: 'iss_1","', jti: 'one' }],
      ]
      for (const each of uses) assert.equal(await claim(store, ...each), true)
      for (const each of uses) assert.equal(await claim(store, ...each), false)
    })

    rule('a claim is kept until its token has expired, however many others have', async ({ store, clock }) => {
      const { organizationId } = await makeOrganization(store)
      clock.time = Date.now()
      const mine = { timeExpires: clock.time + 100_000 }
      assert.equal(await claim(store, organizationId, mine), true)
      const others = (from: number) =>
        Array.from({ length: 5 }, (_, n) => ({ jti: `${from + n}`, timeExpires: clock.time + 10 }))
      for (const each of others(0)) await claim(store, organizationId, each)
      clock.time += 99_999
      for (const each of others(5)) await claim(store, organizationId, each)
      assert.equal(await claim(store, organizationId, mine), false)
    })

    rule(
      'a clock that was nearly a day ahead does not allow a token to be exchanged again',
      async ({ store, clock }) => {
        const { organizationId } = await makeOrganization(store)
        clock.time = Date.now()
        const timeExpires = clock.time + 100_000
        assert.equal(await claim(store, organizationId, { timeExpires }), true)
        clock.time = timeExpires + DAY_MS - 1
        await claim(store, organizationId, { jti: 'later', timeExpires: clock.time + 10 })
        clock.time = timeExpires - 100_000
        assert.equal(await claim(store, organizationId, { timeExpires }), false)
      },
    )

    rule('a token may expire at any fraction of a millisecond, and its claim is kept until then', async (opened) => {
      const { store, clock } = opened
      const { organizationId } = await makeOrganization(store)
      clock.time = Date.now()
      const timeExpires = clock.time + 60_000.4
      assert.equal(await claim(store, organizationId, { timeExpires }), true)
      clock.time = timeExpires
      assert.equal(await claim(store, organizationId, { jti: 'two', timeExpires: timeExpires + 0.2 }), true)
      assert.equal(await claim(store, organizationId, { timeExpires }), false)
    })
  })
}
