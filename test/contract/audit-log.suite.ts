import assert from 'node:assert/strict'
import { ListAuditEntriesRequest_Kind as Kind } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { AuditFilter } from '#services/identity/ports/audit-log.ts'
import type { Stores } from '#services/identity/ports/stores.ts'
import { accepted, counted, entryOf, refused } from '#test/support/audit-events.ts'
import {
  byAdmin,
  issuerSettings,
  type MakePlace,
  makeOrganization,
  policySettings,
  type SuiteOptions,
  suiteOf,
} from './identity-store.support.ts'

/** What AuditLog promises, on any adapter. */
export function auditLogSuite(name: string, make: MakePlace, options: SuiteOptions): void {
  suiteOf(`AuditLog on ${name}`, make, options, (rule) => {
    /** The times of the entries that a filter finds, of an organization without other entries at those times. */
    const timesOf = async ({ auditLog }: Stores, organizationId: string, filter: AuditFilter) => {
      const { items } = await auditLog.list(organizationId, filter, undefined, 100)
      return items.map(({ time }) => time)
    }

    rule('entries come back as they were, newest first, to every process', async ({ store, other }) => {
      const { organizationId } = await makeOrganization(store)
      const value = { ...refused.value, issuerId: 'iss_1', keyId: 'key_2', found: 'x', subject: 'y' }
      const whole = { ...refused, value }
      const entries = [accepted, refused, counted, whole].map((event, index) => {
        return entryOf(organizationId, 10_000 + index, event)
      })
      for (const entry of entries) await store.auditLog.append(entry)
      const { items, more } = await other.auditLog.list(organizationId, {}, undefined, 4)
      assert.deepEqual([items.map((entry) => ({ ...entry, position: 0 })), more], [entries.toReversed(), true])
      const positions = items.map(({ position }) => position)
      assert.deepEqual(
        positions,
        positions.toSorted((a, b) => b - a),
      )
    })

    rule('entries of all processes at once get distinct positions, and none is lost', async ({ store, other }) => {
      const { organizationId } = await makeOrganization(store)
      const second = await makeOrganization(store)
      const appended = Array.from({ length: 60 }, (_, index) => {
        const { auditLog } = index % 2 === 0 ? store : other
        const id = index % 3 === 0 ? second.organizationId : organizationId
        return auditLog.append(entryOf(id, 10_000 + index, accepted))
      })
      const changed = Array.from({ length: 6 }, (_, index) => {
        const { federation } = index % 2 === 0 ? store : other
        return federation.createIssuer(organizationId, `iss_${index}`, () => issuerSettings(), byAdmin())
      })
      await Promise.all([...appended, ...changed])
      const first = (await store.auditLog.list(organizationId, {}, undefined, 100)).items
      assert.equal(first.length, 2 + 40 + 6)
      assert.equal(new Set(first.map(({ position }) => position)).size, first.length)
      assert.equal((await store.auditLog.list(second.organizationId, {}, undefined, 100)).items.length, 2 + 20)
    })

    rule('an entry of a missing organization is refused alone', async ({ store }) => {
      const { organizationId } = await makeOrganization(store)
      const ids = [organizationId, 'org_missing', organizationId]
      const appended = await Promise.allSettled(ids.map((id) => store.auditLog.append(entryOf(id, 10_000, accepted))))
      assert.deepEqual(
        appended.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      assert.equal(
        (await store.auditLog.list(organizationId, { kind: Kind.EXCHANGE_ACCEPTED }, undefined, 9)).items.length,
        2,
      )
    })

    rule(
      'a page begins where the one before it ended, and never has an entry of another organization',
      async ({ store }) => {
        const { organizationId } = await makeOrganization(store)
        const other = await makeOrganization(store)
        for (let i = 0; i < 7; i++) {
          await store.auditLog.append(entryOf(organizationId, 10_000 + i, accepted))
          await store.auditLog.append(entryOf(other.organizationId, 20_000, accepted))
        }
        const seen: number[] = []
        let before: number | undefined
        for (;;) {
          const { items, more } = await store.auditLog.list(organizationId, { kind: Kind.EXCHANGE_ACCEPTED }, before, 3)
          seen.push(...items.map(({ time }) => time))
          before = items.at(-1)?.position
          if (!more) break
        }
        assert.deepEqual(seen, [10_006, 10_005, 10_004, 10_003, 10_002, 10_001, 10_000])
      },
    )

    rule(
      'filters choose by kind, policy, issuer, key, reason, subject and time, alone and together',
      async (opened) => {
        const { store } = opened
        const { organizationId, workspaceId, keyId } = await makeOrganization(store)
        const another = { ...accepted.value, policyId: 'p2', issuerId: 'iss_2', workspaceId, keyId }
        const events = [accepted, refused, counted, { ...accepted, value: another }]
        for (const [index, event] of events.entries()) {
          await store.auditLog.append(entryOf(organizationId, 10_000 + index, event))
        }
        await store.federation.createIssuer(organizationId, 'iss_1', () => issuerSettings(), byAdmin(10_004))
        await store.federation.createPolicy(organizationId, 'p2', () => policySettings(), byAdmin(10_005))
        await store.identity.reviseKey(workspaceId, keyId, (key) => ({ ...key, name: 'x' }), byAdmin(10_006))
        const signed = { ...refused.value, keyId: 'key_1', subject: 'näme ☂', reason: 'scopes' }
        await store.auditLog.append(entryOf(organizationId, 10_007, { ...refused, value: signed }))
        const cases: readonly [AuditFilter, readonly number[]][] = [
          [{ since: 10_000 }, [10_007, 10_006, 10_005, 10_004, 10_003, 10_002, 10_001, 10_000]],
          [{ kind: Kind.EXCHANGE_ACCEPTED }, [10_003, 10_000]],
          [{ kind: Kind.EXCHANGE_REFUSED }, [10_007, 10_002, 10_001]],
          [{ kind: Kind.CHANGE, since: 10_000 }, [10_006, 10_005, 10_004]],
          [{ policyId: 'p1' }, [10_007, 10_001, 10_000]],
          [{ policyId: 'p2' }, [10_005, 10_003, 10_002]],
          [{ issuerId: 'iss_1' }, [10_004, 10_002, 10_000]],
          [{ policyId: 'p2', issuerId: 'iss_1' }, [10_002]],
          [{ policyId: 'p2', kind: Kind.CHANGE }, [10_005]],
          [{ policyId: 'p3' }, []],
          [{ keyId: 'key_1' }, [10_007, 10_000]],
          [{ keyId: 'key_2' }, [10_002]],
          [{ keyId, since: 10_000 }, [10_006, 10_003]],
          [{ keyId, kind: Kind.CHANGE, since: 10_000 }, [10_006]],
          [{ keyId: 'p2' }, []],
          [{ reason: 'subject' }, [10_001]],
          [{ reason: 'audience', policyId: 'p2' }, [10_002]],
          [{ reason: 'audience', policyId: 'p1' }, []],
          [{ reason: 'policy' }, []],
          [{ subject: 'näme ☂' }, [10_007, 10_003, 10_000]],
          [{ subject: 'näme ☂', kind: Kind.EXCHANGE_REFUSED }, [10_007]],
          [{ subject: 'näme ☂', keyId, since: 10_001, until: 10_007 }, [10_003]],
          [{ subject: 'näme' }, []],
          [{ subject: 'näme ☂', reason: 'scopes', policyId: 'p1', keyId: 'key_1' }, [10_007]],
          [{ since: 10_001, until: 10_003 }, [10_002, 10_001]],
          [{ since: 10_008 }, []],
          [{ until: 1 }, []],
          [{ since: 10_003, until: 10_001 }, []],
        ]
        for (const [filter, times] of cases) {
          assert.deepEqual(await timesOf(store, organizationId, filter), times, JSON.stringify(filter))
        }
      },
    )

    rule(
      'a filter by time finds all its entries, even where clocks went back or a count was written late',
      async ({ store }) => {
        const { organizationId } = await makeOrganization(store)
        for (const time of [10_003, 10_009, 10_001, 10_005, 10_000, 10_002]) {
          await store.auditLog.append(entryOf(organizationId, time, accepted))
        }
        const cases: readonly [AuditFilter, readonly number[]][] = [
          [{ since: 10_000 }, [10_002, 10_000, 10_005, 10_001, 10_009, 10_003]],
          [{ since: 10_002 }, [10_002, 10_005, 10_009, 10_003]],
          [{ since: 10_004 }, [10_005, 10_009]],
          [{ since: 10_010 }, []],
          [{ kind: Kind.EXCHANGE_ACCEPTED, until: 10_010 }, [10_002, 10_000, 10_005, 10_001, 10_009, 10_003]],
          [{ kind: Kind.EXCHANGE_ACCEPTED, until: 10_004 }, [10_002, 10_000, 10_001, 10_003]],
          [{ kind: Kind.EXCHANGE_ACCEPTED, until: 10_001 }, [10_000]],
          [{ since: 10_001, until: 10_005 }, [10_002, 10_001, 10_003]],
          [{ since: 10_005, until: 10_006 }, [10_005]],
          [{ since: 10_006, until: 10_009 }, []],
        ]
        for (const [filter, times] of cases) {
          assert.deepEqual(await timesOf(store, organizationId, filter), times, JSON.stringify(filter))
        }
      },
    )

    rule(
      'only entries older than a time expire, of every organization, a limited number at once',
      async ({ store, other }) => {
        const made = [await makeOrganization(store), await makeOrganization(store)]
        for (const { organizationId } of made) {
          for (let i = 0; i < 4; i++) await store.auditLog.append(entryOf(organizationId, 10_000 + i, accepted))
        }
        const removed: number[] = []
        for (let i = 0; i < 4; i++) removed.push(await store.auditLog.expire(10_002, 3))
        assert.deepEqual(removed, [3, 3, 2, 0], 'two of each were of the creation')
        assert.equal(await other.auditLog.expire(9_000, 3), 0)
        for (const { organizationId } of made) {
          assert.deepEqual(await timesOf(store, organizationId, {}), [10_003, 10_002])
        }
        const [{ organizationId } = assert.fail()] = made
        await store.auditLog.append(entryOf(organizationId, 10_009, accepted))
        const { items } = await store.auditLog.list(organizationId, {}, undefined, 1)
        assert.equal(items[0]?.position, 7, 'no position is given again')
      },
    )
  })
}
