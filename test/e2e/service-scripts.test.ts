import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runToEnd, scratchDirectory, startProcess } from '#test/support/processes.ts'

const secret = { PORTICO_INTERNAL_SECRET: 'secret-of-the-tests' }
const NPM = { npm_config_update_notifier: 'false' }

describe('the processes of their own', { concurrency: 2 }, () => {
  for (const name of ['identity', 'inference', 'catalog', 'session', 'gateway']) {
    test(`npm run ${name} names every setting that is missing or wrong`, async () => {
      using data = scratchDirectory()
      const environment = { ...NPM, PORTICO_DATA_DIR: data.path, PORTICO_LOG_LEVEL: 'shout' }
      const { code, stderr } = await runToEnd('npm', ['run', '--silent', name], environment)
      assert.equal(code, 1)
      assert.match(stderr, /^The settings can't be used:\n/)
      assert.match(stderr, /^ {2}PORTICO_INTERNAL_SECRET: must be set$/m)
      assert.match(stderr, /^ {2}PORTICO_LOG_LEVEL: ./m)
      assert.doesNotMatch(stderr, /\bat .*:\d+/)
    })
  }

  test('a port in use is told by the name of the setting', async () => {
    using data = scratchDirectory()
    const environment = { ...secret, PORTICO_DATA_DIR: data.path }
    const other = await startProcess('services/identity/main.ts', { ...environment, PORTICO_SERVICE_PORT: '0' })
    const { port } = new URL(other.url)
    const ended = await runToEnd('services/identity/main.ts', [], { ...environment, PORTICO_SERVICE_PORT: port })
    assert.equal(await other.stop(), 0)
    const stderr = `The settings can't be used:\n  PORTICO_SERVICE_PORT: ${port} of 127.0.0.1 is in use\n`
    assert.deepEqual([ended.code, ended.stderr], [1, stderr])
  })

  test('a MongoDB server that cannot be reached is told by the name of the setting, without its password', async () => {
    const uri = 'mongodb://user:pass-word@127.0.0.1:9/?replicaSet=none'
    const environment = { ...secret, PORTICO_SERVICE_PORT: '0', PORTICO_MONGODB_URI: uri }
    const { code, stdout, stderr } = await runToEnd('services/identity/main.ts', [], environment)
    assert.equal(code, 1)
    assert.match(stderr, /^The settings can't be used:\n {2}PORTICO_MONGODB_URI: can't be used: [^\n]*\n$/)
    assert.doesNotMatch(stdout + stderr, /pass-word/)
  })
})
