import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { InstanceClient } from '#test/support/instance-client.ts'
import { KEYS, killIfAlive, noneAlive, processesWith, scratchDirectory } from '#test/support/processes.ts'
import { startSingle } from '#test/support/product.ts'
import { waitFor } from '#test/support/wait-until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

// Each waits for most of its time.
describe('a stop', { concurrency: true }, () => {
  test('SIGINT ends the server in time while runs, a tool and streams go on; the next start continues the runs', async () => {
    using data = scratchDirectory()
    using project = scratchDirectory()
    // The answer takes longer than it is allowed to.
    const environment = { PORTICO_DRAIN_SECONDS: '1' }
    const setting = { dataDirectory: data.path, project: project.path, environment }
    const marker = `43${Date.now() % 1e8}`
    const calls = join(project.path, 'calls')
    const first = await startSingle(setting)
    const client = new InstanceClient(first.url)
    const [tool, answer, waiting] = [
      await client.createSession(),
      await client.createSession(),
      await client.createSession({ permissions: [{ action: 'bash', resource: '*', effect: 'ask' }] }),
    ] as const
    const stubborn = `trap '' TERM INT; echo started >> ${calls}; sleep ${marker}; sleep ${marker}`
    await client.prompt(tool, { text: `/tool bash ${JSON.stringify({ command: stubborn })}` })
    await client.prompt(answer, { text: '/slow 100\n/length 25' })
    await client.prompt(waiting, { text: '/tool bash {"command":"true"}' })
    const stream = await fetch(`${first.url}/api/event`)
    const wait = fetch(`${first.url}/api/experimental/session/${tool}/wait`, { method: 'POST' })
    await waitFor('the tool call', () => existsSync(calls))
    await waitFor('the answer', async () => (await client.messages(answer)).length === 2)

    // It reports by exit code 1 that it has not ended within 6 s.
    assert.equal(await first.stop(), 0)
    await noneAlive(marker)
    assert.match(await stream.text(), /: the server is stopping\nretry: \d+\n\n$/)
    assert.equal((await wait).status, 503)

    const second = await startSingle(setting)
    try {
      const again = new InstanceClient(second.url)
      for (const sessionId of [tool, answer, waiting]) {
        await again.wait(sessionId)
        const messages = await again.messages(sessionId)
        assert.deepEqual(
          messages.map(({ type, outcome, error }) => outcome ?? error?.type ?? type),
          ['user', 'aborted', 'assistant', 'succeeded'],
        )
      }
      assert.equal(readFileSync(calls, 'utf8'), 'started\n')
    } finally {
      assert.equal(await second.stop(), 0)
    }
  })

  test('a request that a stop ends with a 503 is no error in the log', async () => {
    using data = scratchDirectory()
    using project = scratchDirectory()
    const plugins = join(project.path, '.opencode/plugins')
    mkdirSync(plugins, { recursive: true })
    writeFileSync(
      join(plugins, 'slow.js'),
      `export default { id: 'slow', setup: () => new Promise((done) => setTimeout(done, 3000)) }`,
    )
    const environment = {
      PORTICO_TRUSTED_DIRECTORIES: JSON.stringify([project.path]),
      PORTICO_DRAIN_SECONDS: '1',
    }
    const product = await startSingle({ dataDirectory: data.path, project: project.path, environment })
    const client = new InstanceClient(product.url)
    await client.get('/api/plugin')
    const reloaded = assert.rejects(client.post('/api/location/reload', undefined), /answered 503: .*stopping/)
    await sleep(200)
    assert.equal(await product.stop(), 0)
    await reloaded
    assert.doesNotMatch(product.processes()[0]?.output() ?? '', /"level":"error"/)
  })

  test('npm start -- DIR takes the folder from where it is called, and Ctrl-C ends it cleanly', async () => {
    using data = scratchDirectory()
    using caller = scratchDirectory()
    mkdirSync(join(caller.path, 'inner'))
    const environment = {
      PORTICO_PORT: '0',
      PORTICO_DATA_DIR: data.path,
      npm_config_update_notifier: 'false',
    }
    // A process group of its own, as in a terminal: Ctrl-C goes to the whole group, including npm and the shell.
    const npm = spawn('npm', ['--prefix', ROOT, 'start', '--', 'inner'], {
      cwd: caller.path,
      detached: true,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const read = (chunk: Buffer): void => {
      output += chunk
    }
    npm.stdout.on('data', read)
    npm.stderr.on('data', read)
    const closed = once(npm, 'close')
    await waitFor('the server', () => output.includes('"stream":true') || npm.exitCode !== null)
    const url = /listening on (\S+)/.exec(output)?.[1]
    const client = new InstanceClient(url ?? assert.fail(output))
    assert.deepEqual(
      await client.get('/api/location').then((location) => (location as { directory: string }).directory),
      join(realpathSync(caller.path), 'inner'),
    )
    const marker = `44${Date.now() % 1e8}`
    const calls = join(caller.path, 'calls')
    const sessionId = await client.createSession()
    await client.prompt(sessionId, {
      text: `/tool bash ${JSON.stringify({ command: `echo started >> ${calls}; sleep ${marker}` })}`,
    })
    await waitFor('the tool call', () => existsSync(calls))
    process.kill(-(npm.pid ?? 0), 'SIGINT')
    await closed
    assert.equal(output.match(/^Stopping; press Ctrl-C again to end at once$/gm)?.length, 1, output)
    // The terminal signals npm's child as well as npm, which passes the signal on: two signals are one Ctrl-C. A closed
    // store leaves no write-ahead log behind.
    await noneAlive(marker)
    assert.deepEqual(
      readdirSync(data.path).filter((name) => name.endsWith('-wal')),
      [],
    )
  })

  for (const shell of ['/bin/sh', '/bin/bash'].filter((path) => existsSync(path))) {
    test(`SIGTERM to npm, whose shell is ${shell}, ends the server cleanly`, async () => {
      using data = scratchDirectory()
      using project = scratchDirectory()
      const environment = { PORTICO_PORT: '0', PORTICO_DATA_DIR: data.path, npm_config_script_shell: shell }
      const npm = spawn('npm', ['--prefix', ROOT, 'start', '--', project.path], {
        env: { ...process.env, ...environment, npm_config_update_notifier: 'false' },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let output = ''
      for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (chunk) => (output += chunk))
      const ended = once(npm, 'exit')
      try {
        await waitFor('the server', () => output.includes('"stream":true') || npm.exitCode !== null)
        npm.kill()
        await ended
        await noneAlive(data.path)
        assert.match(output, /^Stopping$/m)
        assert.deepEqual(
          readdirSync(data.path).filter((name) => name.endsWith('-wal')),
          [],
        )
      } finally {
        for (const { pid } of processesWith(data.path)) killIfAlive(pid)
      }
    })
  }

  test('PORTICO_DRAIN_SECONDS above 5 is obeyed, and the process ends as soon as nothing is open', async () => {
    using data = scratchDirectory()
    using project = scratchDirectory()
    const environment = { PORTICO_DRAIN_SECONDS: '600' }
    const server = await startSingle({ dataDirectory: data.path, project: project.path, environment })
    const client = new InstanceClient(server.url)
    const sessionId = await client.createSession()
    const headers = { authorization: `Bearer ${KEYS.api}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'portico/echo', input: '/slow 500\n/length 16' })
    const answer = fetch(`${server.url}/api/v1/responses`, { method: 'POST', headers, body })
    await client.prompt(sessionId, { text: '/slow 500\n/length 16' })
    await waitFor('the run', async () => (await client.messages(sessionId)).length === 2)
    // As an HTTP agent keeps one ready: no request was sent on it.
    const { hostname, port } = new URL(server.url)
    const silent = connect(Number(port), hostname)
    await once(silent, 'connect')
    // Longer than a process used to take to end, whatever the setting said.
    assert.equal(await server.stop(), 0)
    assert.equal((await answer).status, 200)
    assert.match(await (await answer).text(), /"completed"/)
    const again = await startSingle({ dataDirectory: data.path, project: project.path })
    try {
      const messages = await new InstanceClient(again.url).messages(sessionId)
      const outcomes = messages.map(({ type, outcome, error }) => outcome ?? error?.type ?? type)
      assert.deepEqual(outcomes, ['user', 'assistant', 'succeeded'])
    } finally {
      await again.stop()
    }
  })
})
