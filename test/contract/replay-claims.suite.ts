import assert from 'node:assert/strict'
import { type MakePlace, type SuiteOptions, suiteOf } from './identity-store.support.ts'

/** What ReplayClaims promises, on any adapter. */
export function replayClaimsSuite(name: string, make: MakePlace, options: SuiteOptions): void {
  suiteOf(`ReplayClaims on ${name}`, make, options, (rule) => {
    const use = { organizationId: 'org_1', issuerId: 'iss_1', jti: 'one' }

    rule('of many claims of one token at once, through several processes, one is granted', async ({ store, other }) => {
      const until = Date.now() + 60_000
      const claims = Array.from({ length: 12 }, (_, index) => {
        return (index % 2 === 0 ? store : other).replayClaims.claim(use, until)
      })
      assert.equal((await Promise.all(claims)).filter((granted) => granted).length, 1)
      assert.equal(await other.replayClaims.claim(use, until), false)
    })

    rule('organization, issuer and jti make a token, and nothing that looks alike', async ({ store }) => {
      const until = Date.now() + 60_000
      const uses = [
        use,
        { ...use, organizationId: 'org_2' },
        { ...use, issuerId: 'iss_2' },
        { ...use, jti: '' },
        { ...use, jti: 'ONE' },
        { ...use, jti: 'x'.repeat(10_000) },
        { organizationId: 'org_1', issuerId: 'iss_1"', jti: ',"one' },
        { organizationId: 'org_1', issuerId: 'iss_1","', jti: 'one' },
      ]
      for (const each of uses) assert.equal(await store.replayClaims.claim(each, until), true)
      for (const each of uses) assert.equal(await store.replayClaims.claim(each, until), false)
    })

    rule('a claim is kept until its time, however many others have ended', async ({ store, clock }) => {
      clock.time = Date.now()
      assert.equal(await store.replayClaims.claim(use, clock.time + 100_000), true)
      for (let i = 0; i < 5; i++) await store.replayClaims.claim({ ...use, jti: `${i}` }, clock.time + 10)
      clock.time += 99_999
      for (let i = 5; i < 10; i++) await store.replayClaims.claim({ ...use, jti: `${i}` }, clock.time + 10)
      assert.equal(await store.replayClaims.claim(use, clock.time + 100_000), false)
    })

    rule('a clock that was nearly a day ahead lets no token pass again', async ({ store, clock }) => {
      clock.time = Date.now()
      const until = clock.time + 100_000
      assert.equal(await store.replayClaims.claim(use, until), true)
      clock.time = until + 86_399_999
      await store.replayClaims.claim({ ...use, jti: 'later' }, clock.time + 10)
      clock.time = until - 100_000
      assert.equal(await store.replayClaims.claim(use, until), false)
    })

    rule('a claim may end at any fraction of a millisecond, and is kept until then', async ({ store, clock }) => {
      clock.time = Date.now()
      const until = clock.time + 60_000.4
      assert.equal(await store.replayClaims.claim(use, until), true)
      clock.time = until
      assert.equal(await store.replayClaims.claim({ ...use, jti: 'two' }, until + 0.2), true)
      assert.equal(await store.replayClaims.claim(use, until), false)
    })
  })
}
