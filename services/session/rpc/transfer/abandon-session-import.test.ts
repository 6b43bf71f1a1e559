import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { createContextValues, type HandlerContext } from '@connectrpc/connect'
import { AbandonSessionImportRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import type { BlobHold } from '#services/session/ports/blob-store.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { ImportHolds } from '#services/session/run/lifetime/import-holds.ts'
import { callContextKey } from '#shared/rpc/call-context.ts'
import { abandonSessionImport } from './abandon-session-import.ts'

test('an import that is given up no longer holds content, even if that cannot be written', async () => {
  const released: BlobHold[] = []
  const importHolds = new ImportHolds({ release: async (hold) => void released.push(hold) })
  const hold = importHolds.of('key_1')
  let woken = 0
  const full = new Error('The disk is full')
  const giveUpStaged = () => Promise.reject(full)
  const store = { giveUpStaged } as Partial<SessionStore> as SessionStore
  const abandon = abandonSessionImport({ store, importHolds, remover: { wake: () => woken++ } })
  const principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_1', kind: 'workspace' } as const
  const values = createContextValues().set(callContextKey, { principal })
  const request = create(AbandonSessionImportRequestSchema, { import: { sessionId: 'ses_1', key: 'key_1' } })
  await assert.rejects(async () => abandon(request, { values } as HandlerContext), full)
  assert.deepEqual([released, woken], [[hold], 1])
  assert.notEqual(importHolds.of('key_1'), hold)
  await importHolds.end('key_1')
})
