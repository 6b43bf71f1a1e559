import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { readConfig } from '#services/identity/config.ts'
import { open } from '#services/identity/open.ts'
import { systemClock } from '#shared/clock.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { workspaceUuid } from '#shared/workspace-uuid.ts'
import { runToEnd, scratchDirectory } from '#test/support/processes.ts'
import { silentLogger } from '#test/support/transports.ts'

test('organizations are created, listed and given plans beside a running server, and get keys of their own', async () => {
  using folder = scratchDirectory()
  const env = { PORTICO_DATA_DIR: folder.path }
  const org = (...words: string[]) => runToEnd('cli/org.ts', words, env)
  await using server = await open(readConfig(env), { clock: systemClock, logger: silentLogger })
  const client = createClient(IdentityService, createLocalTransport(server.routes))
  const principalOf = async (value: string) =>
    (await client.authenticate({ credential: { case: 'apiKey', value } })).principal

  const created = await org('create', 'Octo ☂', '--plan', 'business')
  assert.match(created.stdout, /^mk-portico-\w{40}\n$/)
  const [, organizationId = '', workspaceId = ''] =
    /Created (org_\w{24}) {2}business {2}"Octo ☂" with workspace (wrk_\w{24})\n/.exec(created.stderr) ?? []
  const admin = await principalOf(created.stdout.trim())
  assert.deepEqual(
    [admin?.organizationId, admin?.workspaceId, admin?.kind],
    [organizationId, workspaceId, Principal_Kind.MANAGEMENT],
  )
  const key = await runToEnd('cli/key.ts', ['create', '--workspace', workspaceId], env)
  assert.equal((await principalOf(key.stdout.trim()))?.organizationId, organizationId)
  const again = await runToEnd('cli/key.ts', ['create', '--workspace', workspaceUuid(workspaceId)], env)
  assert.equal((await principalOf(again.stdout.trim()))?.workspaceId, workspaceId)
  for (const verb of ['create', 'list']) {
    const missing = await runToEnd('cli/key.ts', [verb, '--workspace', 'wrk_missing'], env)
    assert.deepEqual([missing.code, missing.stderr.endsWith('\nWorkspace not found: wrk_missing\n')], [1, true])
  }

  assert.match((await org('plan', organizationId, 'free')).stderr, new RegExp(`Changed: ${organizationId}  free`))
  const listed = await org('list')
  assert.match(
    listed.stdout,
    new RegExp(
      `^org_\\w{24}  enterprise  wrk_\\w{24}  "Default"\n${organizationId}  free  ${workspaceId}  "Octo ☂"\n$`,
    ),
  )
  const unknown = await org('plan', 'org_unknown', 'free')
  assert.deepEqual([unknown.code, unknown.stderr.endsWith('\nOrganization not found: org_unknown\n')], [1, true])
})

test('a command removes no entry of the audit log, however old: only a server knows how long they are kept', async () => {
  using folder = scratchDirectory()
  const env = { PORTICO_DATA_DIR: folder.path }
  const clock = { ...systemClock, now: () => Date.UTC(2001, 0, 1) }
  await (await open(readConfig({ ...env, PORTICO_AUDIT_DAYS: '0' }), { clock, logger: silentLogger }))[
    Symbol.asyncDispose
  ]()
  const entries = () => {
    using database = new DatabaseSync(join(folder.path, 'identity.sqlite'))
    return database.prepare('SELECT * FROM audit').all()
  }
  const before = entries()
  assert.equal(before.length, 3)
  assert.equal((await runToEnd('cli/org.ts', ['list'], env)).code, 0)
  assert.deepEqual(entries(), before)
})

test('invalid arguments are answered with one line and a pointer to the usage, and a missing store is reported', async () => {
  using folder = scratchDirectory()
  const org = (...words: string[]) => runToEnd('cli/org.ts', words, { PORTICO_DATA_DIR: folder.path })
  for (const words of [
    ['make'],
    ['create'],
    ['create', 'a', 'b'],
    ['create', 'a', '--plan', 'gold'],
    ['list', 'a'],
    ['plan', 'org_1'],
    ['plan', 'org_1', 'gold'],
    ['list', '--plan', 'free'],
    ['list'],
  ]) {
    const { code, stdout, stderr } = await org(...words)
    assert.deepEqual([code, stdout], [2, ''], words.join(' '))
    assert.match(stderr, /^(Store: [^\n]+\n)?[^\n]+\nSee npm run org -- help\n$/)
  }
  const { code, stdout } = await org('--help')
  assert.deepEqual([code, stdout.startsWith('Usage: npm run org -- create ')], [0, true])
})
