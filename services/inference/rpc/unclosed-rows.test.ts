import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  GenerationRecordSchema,
  GenerationRecord_Status as Status,
  UsageService,
} from '#gen/portico/inference/v1/usage_service_pb.js'
import { EMPTY_ACCOUNT } from '#services/inference/domain/ledger/account.ts'
import type { Ledger, LedgerClosing } from '#services/inference/ports/ledger.ts'
import { reasons } from '#services/inference/reasons.ts'
import { RowCloser } from '#services/inference/run/row-closer.ts'
import { systemClock } from '#shared/clock.ts'
import { reasonOf } from '#shared/reasons.ts'
import { callOptions, type Principal } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import { silentLogger } from '#test/support/transports.ts'
import { usageHandlers } from './usage.ts'

const principal: Principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_1', kind: 'workspace' }
const options = callOptions({ principal, authenticated: true })
const otherWorkspace = callOptions({ principal: { ...principal, workspaceId: 'wrk_2' }, authenticated: true })

test('the row of an ended request and the sums that include it are unavailable while it cannot be written; others are available', async (t) => {
  // A full disk: rows can be read, and not written.
  const ledger: Partial<Ledger> = {
    close: () => Promise.reject(storeUnavailable('full')),
    announce: async () => {},
    awaitAnnounced: async () => {},
    abandon: () => {},
    get: async (_, requestId) =>
      requestId === 'req_0' ? undefined : create(GenerationRecordSchema, { status: Status.OPEN }),
    accounts: async () => [EMPTY_ACCOUNT],
    workspaceAccount: async () => EMPTY_ACCOUNT,
    activity: async () => [],
  }
  const closer = new RowCloser(ledger as Ledger, silentLogger)
  const dependencies = { ledger: ledger as Ledger, closer, clock: systemClock }
  const implementation = usageHandlers(dependencies)
  const routes = { domain: 'inference', reasons, services: [{ service: UsageService, implementation }] }
  const client = createClient(UsageService, createLocalTransport(routes))
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const row = { workspaceId: 'wrk_1', requestId: 'req_1', apiKeyId: 'key_1' } as LedgerClosing
  await closer.close(row)

  /** How a call ended: the reason of its refusal, if it was refused. */
  async function endOf(call: Promise<unknown>): Promise<string | undefined> {
    let isOver = false
    const end = call
      .then(
        () => 'answered',
        (error: unknown) => reasonOf(error)?.reason,
      )
      .finally(() => {
        isOver = true
      })
    while (!isOver) {
      await new Promise(setImmediate)
      t.mock.timers.tick(4_000)
    }
    return end
  }
  const away = 'STORE_UNAVAILABLE'
  assert.equal(await endOf(client.getGeneration({ requestId: 'req_1' }, options)), away)
  assert.equal(await endOf(client.getKeyUsage({ keyIds: ['key_0', 'key_1'] }, options)), away)
  assert.equal(await endOf(client.getWorkspaceUsage({}, options)), away)
  assert.equal(await endOf(client.listActivity({}, options)), away)
  assert.equal(await endOf(client.listActivity({ keyId: 'key_1' }, options)), away)

  assert.equal(await endOf(client.getGeneration({ requestId: 'req_0' }, options)), 'GENERATION_NOT_FOUND')
  assert.equal(await endOf(client.getGeneration({ requestId: 'req_2' }, options)), 'GENERATION_NOT_FOUND')
  assert.equal(await endOf(client.getKeyUsage({ keyIds: ['key_0'] }, options)), 'answered')
  assert.equal(await endOf(client.listActivity({ keyId: 'key_0' }, options)), 'answered')
  assert.equal(await endOf(client.getWorkspaceUsage({}, otherWorkspace)), 'answered')
  const disposed = closer[Symbol.asyncDispose]()
  t.mock.timers.tick(5_000)
  await disposed
})
