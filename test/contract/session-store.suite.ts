import { suite, test } from 'node:test'
import { activityCases } from './session-store.activity.ts'
import { anyListCases } from './session-store.any-lists.ts'
import { compactionCases } from './session-store.compactions.ts'
import { controlCases } from './session-store.controls.ts'
import { changeCases, eventCases, retentionCases } from './session-store.events.ts'
import { familyCases } from './session-store.families.ts'
import { inboxCases } from './session-store.inbox.ts'
import { inboxItemCases } from './session-store.inbox-items.ts'
import { interruptCases } from './session-store.interrupts.ts'
import { leaseCases } from './session-store.leases.ts'
import { listCases } from './session-store.lists.ts'
import { partCases } from './session-store.parts.ts'
import { permissionCases } from './session-store.permissions.ts'
import { promotionCases } from './session-store.promotion.ts'
import { removalCases } from './session-store.removal.ts'
import { runCases } from './session-store.runs.ts'
import { sessionCases } from './session-store.sessions.ts'
import { settlementCases } from './session-store.settlement.ts'
import { stagingCases } from './session-store.staging.ts'
import type { StoreFixture, StoreTest } from './session-store.support.ts'
import { transcriptCases } from './session-store.transcripts.ts'
import { wakeCases } from './session-store.wakes.ts'

/** What `SessionStore` promises. `open` makes an empty store for each test. */
export function sessionStoreSuite(
  name: string,
  open: () => Promise<StoreFixture>,
  options: { readonly skip?: string | false } = {},
): void {
  suite(`SessionStore on ${name}`, { skip: options.skip ?? false }, () => {
    const run: StoreTest = (title, body) => {
      test(title, async () => {
        await using fixture = await open()
        await body(fixture)
      })
    }
    const groups = {
      sessionCases,
      listCases,
      anyListCases,
      activityCases,
      inboxCases,
      inboxItemCases,
      promotionCases,
      controlCases,
      compactionCases,
      runCases,
      settlementCases,
      transcriptCases,
      partCases,
      removalCases,
      familyCases,
      stagingCases,
    }
    const others = { leaseCases, interruptCases, wakeCases, permissionCases, eventCases, changeCases, retentionCases }
    for (const cases of Object.values({ ...groups, ...others })) cases(run)
  })
}
