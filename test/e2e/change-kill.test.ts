import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { AuditEntry, AuditEntry_Change } from '#gen/portico/identity/v1/federation_pb.js'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { readConfig } from '#services/identity/config.ts'
import { open } from '#services/identity/open.ts'
import { systemClock } from '#shared/clock.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { silentLogger } from '#test/support/transports.ts'

const ENTRY = fileURLToPath(new URL('./exchange-and-change.ts', import.meta.url))

/** What a process had printed when it was killed, at some moment after it had issued that many tokens. */
async function killedAtWork(env: Readonly<Record<string, string>>, tokens: number) {
  const child = spawn(process.execPath, [ENTRY], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const said = { tokens: [] as string[], revisions: new Map<string, number>() }
  for await (const line of createInterface({ input: child.stdout })) {
    const [kind, value = '', revision] = line.split(' ')
    // The last line may be cut off.
    if (kind === 'token' && value.split('.')[2]?.length === 86) said.tokens.push(value)
    if (kind === 'revision' && revision !== undefined) said.revisions.set(value, Number(revision))
    if (said.tokens.length === tokens) child.kill('SIGKILL')
  }
  await closed
  return said
}

/** The changes of each resource, oldest first. */
function changesOf(entries: readonly AuditEntry[]): Map<string, AuditEntry_Change[]> {
  const changes = entries.flatMap(({ event }) => (event.case === 'change' ? [event.value] : [])).reverse()
  return Map.groupBy(changes, ({ resourceId }) => resourceId)
}

async function killExchanges(env: Readonly<Record<string, string>>, kills: number): Promise<void> {
  const given: string[] = []
  const revisions = new Map<string, number>()
  for (let kill = 0; kill < kills; kill++) {
    const said = await killedAtWork(env, 20 + Math.floor(Math.random() * 60))
    given.push(...said.tokens)
    for (const [id, revision] of said.revisions) revisions.set(id, revision)
    await using service = await open(readConfig(env), { clock: systemClock, logger: silentLogger })
    const { organizationId, workspaceId } = service.bootstrap
    const transport = createLocalTransport(service.routes)
    const [identity, federation] = [
      createClient(IdentityService, transport),
      createClient(FederationService, transport),
    ]
    const admin = callOptions({ principal: { organizationId, workspaceId, apiKeyId: '', kind: 'local-operator' } })
    const entries: AuditEntry[] = []
    let pageToken: string | undefined
    do {
      const page = await federation.listAuditEntries({ organizationId, pageSize: 100, pageToken }, admin)
      entries.push(...page.entries)
      pageToken = page.nextPageToken
    } while (pageToken !== undefined)
    const logged = new Set(
      entries.flatMap(({ event }) => (event.case === 'exchangeAccepted' ? [event.value.tokenId] : [])),
    )
    for (const token of given) {
      const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { jti: string }
      assert.ok(logged.has(jti), 'a token that was given out is missing in the log')
      await identity.authenticate({ credential: { case: 'accessToken', value: token } })
    }
    const changes = changesOf(entries)
    assert.equal(revisions.size, 2 * (kill + 1))
    for (const [id, revision] of revisions) {
      const chain = changes.get(id) ?? []
      assert.ok(chain.length >= revision, `${chain.length} entries of ${id}, which has said revision ${revision}`)
      for (const [index, { before }] of chain.entries()) assert.deepEqual(before, chain[index - 1]?.after)
    }
  }
}

test('kill -9 amid exchanges and changes: every token that was given out is in the audit log and verifies, every change has its entry (SQLite)', async () => {
  using folder = scratchDirectory()
  await killExchanges({ PORTICO_DATA_DIR: folder.path }, 4)
})

test('kill -9 amid exchanges and changes loses neither an audit entry nor a change (MongoDB)', {
  skip: skipWithoutMongo,
}, async () => {
  // As patient as a deployment: what a killed process has locked is released once a call has waited in vain.
  const uri = (mongoUri() ?? '').replace(/&?(serverSelectionTimeoutMS|waitQueueTimeoutMS)=\d+/g, '')
  const database = freshDatabaseName()
  const key = Buffer.alloc(32, 7).toString('base64')
  const env = { PORTICO_MONGODB_URI: uri, PORTICO_MONGODB_DATABASE: database, PORTICO_KEY_ENCRYPTION_KEY: key }
  try {
    await killExchanges(env, 2)
  } finally {
    await dropDatabase(database)
  }
})
