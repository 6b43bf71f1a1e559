import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileText } from '#test/support/containers.ts'
import { freePorts } from '#test/support/free-ports.ts'
import { InstanceClient } from '#test/support/instance-client.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { waitFor } from '#test/support/wait-until.ts'

test("README's five commands start the product", { skip: skipWithoutMongo }, async () => {
  using home = scratchDirectory()
  mkdirSync(join(home.path, 'projects/lighthouse'), { recursive: true })
  writeFileSync(join(home.path, 'projects/lighthouse/README.md'), '# Lighthouse\n')
  const database = freshDatabaseName()
  const names = ['session', 'catalog', 'inference', 'identity', 'gateway']
  const ports = new Map((await freePorts(names.length)).map((port, index) => [names[index] ?? '', port]))
  const given =
    /### Five processes[\s\S]*?```sh\n([\s\S]*?)```/.exec(fileText('README.md'))?.[1] ?? assert.fail('no commands')
  assert.equal(given.match(/npm run \w+(?= ?&?$)/gm)?.length, 5)
  assert.match(given, /^npm run replica-set$/m)
  // Only what differs on a machine where other things run: the server of the tests, and free ports.
  const script = given
    .replace('mongodb://127.0.0.1:27017/?replicaSet=rs0', mongoUri() ?? '')
    .replace(
      /npm run (\w+)(?= ?&?$)/gm,
      (command, name) => `PORTICO_SERVICE_PORT=${ports.get(name)} PORTICO_PORT=${ports.get(name)} ${command}`,
    )
  const urls = names.map((name) => [`PORTICO_${name.toUpperCase()}_URL`, `http://127.0.0.1:${ports.get(name)}`])
  const environment = {
    ...process.env,
    HOME: home.path,
    npm_config_update_notifier: 'false',
    PORTICO_MONGODB_DATABASE: database,
    PORTICO_UNREADY_SECONDS: '0',
  }
  const shell = spawn('sh', ['-c', script], {
    env: { ...environment, ...Object.fromEntries(urls.slice(0, 4)) },
    detached: true,
  })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (output += chunk))
  const ended = once(shell, 'close')
  try {
    const url = `http://127.0.0.1:${ports.get('gateway')}`
    const client = new InstanceClient(url)
    const begun = () =>
      fetch(`${url}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      )
    await waitFor('the gateway to be ready', async () => {
      assert.equal(shell.exitCode, null, output)
      return begun()
    })
    const sessionId = await waitForSession(client)
    await client.prompt(sessionId, { text: 'What is in this project?' })
    await client.wait(sessionId)
    assert.match(JSON.stringify(await client.messages(sessionId)), /Lighthouse/)
    const keys = (await (await fetch(`${url}/api/v1/oauth/jwks`)).json()) as { keys?: unknown[] }
    assert.equal(keys.keys?.length, 1, JSON.stringify(keys))
    assert.match(output, /^Workspace, as PORTICO_PROJECT_ROOTS names it: wrk_\w+$/m)
    assert.doesNotMatch(output, /Unknown settings/)
  } finally {
    process.kill(-(shell.pid ?? 0), 'SIGTERM')
    await ended
    await dropDatabase(database)
  }
})

/** The gateway may be ready before the services that it calls. */
async function waitForSession(client: InstanceClient): Promise<string> {
  let id = ''
  await waitFor('a session', async () => {
    id = await client.createSession({}).catch(() => '')
    return id !== ''
  })
  return id
}
