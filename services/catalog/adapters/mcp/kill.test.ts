import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type CatalogFixture, openCatalog, processesWith, runTool } from '#test/support/catalog.ts'
import { configureMcp, scriptedServer, untilOffered } from '#test/support/mcp.ts'
import { killIfAlive } from '#test/support/processes.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** How many servers are killed, each once; the soak test kills more of them. */
const SERVERS = Number(process.env.MCP_KILLS ?? 6)

test('when servers are killed at random moments, no call is sent twice, each has an outcome, and no process is left', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'portico-mcp-kill-'))
  t.after(() => rm(folder, { recursive: true }))
  {
    await using catalog = await openCatalog()
    const servers = Array.from({ length: SERVERS }, (_, i) => ({ name: `k${i}`, ...scriptedServer(folder, `k${i}`) }))
    await configureMcp(catalog.config, Object.fromEntries(servers.map(({ name, entry }) => [name, entry])))
    await untilOffered(catalog, ...servers.map(({ name }) => name))
    await Promise.all(servers.map((server) => killOne(catalog, server)))
  }
  assert.deepEqual(await processesWith(folder), [])
})

async function killOne(catalog: CatalogFixture, server: ReturnType<typeof scriptedServer> & { name: string }) {
  const { name, lines } = server
  const moment = randomInt(30)
  let tag = 0
  const call = async () => {
    const { failure, text } = await runTool(catalog, `${name}_wait`, { ms: 10, tag: tag++ })
    if (failure === undefined) assert.equal(text, 'waited')
    else assert.match(failure.type, /^(outcome_unknown|mcp_unavailable)$/, `killed after ${moment} ms`)
    return failure === undefined
  }
  const calls = Promise.all([0, 1, 2, 3].map((n) => delay(n * 5).then(call)))
  await delay(moment)
  for (const pid of await processesWith(`mcp-${name}.log`)) killIfAlive(pid)
  await calls
  // It may not be known yet that it was killed.
  await waitFor('it to come back', call)
  const tags = (await lines()).filter((line) => line.startsWith('call')).map((line) => line.split(' ')[3])
  assert.equal(new Set(tags).size, tags.length, `killed after ${moment} ms: ${tags}`)
  await waitFor('one process', async () => (await processesWith(`mcp-${name}.log`)).length === 1)
}
