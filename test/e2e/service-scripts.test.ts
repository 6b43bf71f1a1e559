import assert from 'node:assert/strict'
import { readdirSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, test } from 'node:test'
import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { createHttp2Transport } from '#shared/http2/transport.ts'
import { createClient } from '#shared/rpc/client.ts'
import { asOperator } from '#test/support/catalog.ts'
import { mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { runToEnd, scratchDirectory, startProcess } from '#test/support/processes.ts'
import { refusalOf } from '#test/support/rejects.ts'

const secret = { PORTICO_INTERNAL_SECRET: 'secret-of-the-tests' }
/** Those that keep something. */
const STORED = ['identity', 'inference', 'session']
const NPM = { npm_config_update_notifier: 'false' }

describe('the services as processes of their own', { concurrency: 2 }, () => {
  for (const name of ['identity', 'inference', 'catalog', 'session', 'gateway']) {
    test(`npm run ${name} names every setting that is missing or wrong`, async () => {
      using data = scratchDirectory()
      const environment = {
        ...NPM,
        PORTICO_DATA_DIR: data.path,
        PORTICO_LOG_LEVEL: 'shout',
        PORTICO_AUTH: 'none',
        PORTICO_PROT: '1',
      }
      const { code, stderr } = await runToEnd('npm', ['run', '--silent', name], environment)
      assert.equal(code, 1)
      assert.match(stderr, /^The settings cannot be used:\n/)
      assert.match(stderr, /^ {2}PORTICO_INTERNAL_SECRET: must be set$/m)
      assert.match(stderr, /^ {2}PORTICO_LOG_LEVEL: ./m)
      assert.match(stderr, /^Warnings:\n {2}PORTICO_PROT: is not a known setting; did you mean PORTICO_PORT\?$/m)
      assert.equal(
        /^ {2}PORTICO_MONGODB_URI: must be set for a service in a process of its own$/m.test(stderr),
        STORED.includes(name),
      )
      assert.doesNotMatch(stderr, /PORTICO_AUTH/)
      assert.doesNotMatch(stderr, /\bat .*:\d+/)
    })
  }

  for (const name of STORED) {
    test(`${name} without PORTICO_MONGODB_URI is refused, and makes nothing`, async () => {
      using data = scratchDirectory()
      const environment = { ...secret, PORTICO_DATA_DIR: data.path, PORTICO_SERVICE_PORT: '0' }
      const { code, stdout, stderr } = await runToEnd(`services/${name}/main.ts`, [], environment)
      const why = 'PORTICO_MONGODB_URI: must be set for a service in a process of its own'
      assert.deepEqual([code, stdout, stderr], [1, '', `The settings cannot be used:\n  ${why}\n`])
      assert.deepEqual(readdirSync(data.path), [])
    })
  }

  test('a catalog process has no default project unless one is set, and accepts settings of other processes', async () => {
    const own = { ...secret, PORTICO_SERVICE_PORT: '0' }
    const catalog = await startProcess('services/catalog/main.ts', { ...own, PORTICO_PORT: '1', PORTICO_DIRECTRY: '/' })
    try {
      const to = createClient(
        CatalogService,
        createHttp2Transport({ url: catalog.url, secret: secret.PORTICO_INTERNAL_SECRET }),
      )
      const { message } = await refusalOf(to.resolveLocation({}, asOperator))
      assert.equal(
        message,
        'The default is not a project directory: PORTICO_DIRECTORY is not set where the catalog runs',
      )
      const directory = realpathSync(tmpdir())
      assert.equal((await to.resolveLocation({ directory }, asOperator)).location?.directory, directory)
    } finally {
      assert.equal(await catalog.stop(), 0)
    }
    const warned = catalog
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":"warn"'))
    assert.deepEqual(
      warned.map((line) => (JSON.parse(line) as { msg: string }).msg),
      ['Unknown settings are ignored: PORTICO_DIRECTRY is not a known setting; did you mean PORTICO_DIRECTORY?'],
    )
  })

  test('a port in use is reported with the name of the setting', async () => {
    using data = scratchDirectory()
    const environment = { ...secret, PORTICO_DATA_DIR: data.path }
    const other = await startProcess('services/catalog/main.ts', { ...environment, PORTICO_SERVICE_PORT: '0' })
    const { port } = new URL(other.url)
    const ended = await runToEnd('services/catalog/main.ts', [], { ...environment, PORTICO_SERVICE_PORT: port })
    assert.equal(await other.stop(), 0)
    const stderr = `The settings cannot be used:\n  PORTICO_SERVICE_PORT: port ${port} on 127.0.0.1 is in use\n`
    assert.deepEqual([ended.code, ended.stderr], [1, stderr])
  })

  test('logs its start and its stop', async () => {
    const catalog = await startProcess('services/catalog/main.ts', { ...secret, PORTICO_SERVICE_PORT: '0' })
    assert.equal(await catalog.stop(), 0)
    const lines = catalog
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    const said = lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
    assert.deepEqual([said[0], ...said.slice(-2)], ['Starting', 'Stopping', 'Stopped'])
  })

  test('a replica set that has another name is reported as a likely cause, and so is one that was not initiated', {
    skip: skipWithoutMongo,
  }, async () => {
    const uri = (mongoUri() ?? '')
      .replace(/replicaSet=\w+/, 'replicaSet=another')
      .replace(/(serverSelectionTimeoutMS)=\d+/, '$1=500')
    const environment = { ...secret, PORTICO_SERVICE_PORT: '0', PORTICO_MONGODB_URI: uri }
    const { code, stderr } = await runToEnd('services/identity/main.ts', [], environment)
    assert.equal(code, 1)
    assert.match(stderr, /^ {2}PORTICO_MONGODB_URI: cannot be used: no primary of the replica set another at /m)
    assert.match(
      stderr,
      /not been initiated \(npm run replica-set, .*replicaSet in PORTICO_MONGODB_URI is not its name\n$/,
    )
  })

  test('a MongoDB server that cannot be reached is reported with the name of the setting, without its password', async () => {
    const uri = 'mongodb://user:pass-word@127.0.0.1:9/?replicaSet=none'
    const environment = { ...secret, PORTICO_SERVICE_PORT: '0', PORTICO_MONGODB_URI: uri }
    const { code, stdout, stderr } = await runToEnd('services/identity/main.ts', [], environment)
    assert.equal(code, 1)
    assert.match(stderr, /^The settings cannot be used:\n {2}PORTICO_MONGODB_URI: cannot be used: [^\n]*\n$/)
    assert.doesNotMatch(stdout + stderr, /pass-word/)
  })
})
