import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { InstanceClient, type WireMessage } from '#test/support/instance-client.ts'
import { KEYS, type Process, runToEnd, scratchDirectory, startProcess } from '#test/support/processes.ts'
import { waitFor } from '#test/support/wait-until.ts'

const noCurl = spawnSync('curl', ['--version']).status === 0 ? false : 'no curl on this machine'
// Otherwise npm would ask its registry now and then for a newer npm.
const NPM = { npm_config_update_notifier: 'false' }
const KEY = /\b[sm]k-portico-\w{40}\b/g

describe('a start with nothing but an empty folder', () => {
  const data = scratchDirectory()
  const project = scratchDirectory()
  let server: Process
  let keys: string[]

  const start = () =>
    startProcess('main.ts', { PORTICO_PORT: '0', PORTICO_DATA_DIR: data.path, ...NPM }, [project.path])

  before(async () => {
    writeFileSync(join(project.path, 'README.md'), '# Lighthouse\n\nCounts ships at night.\n')
    server = await start()
    keys = server.output().match(KEY) ?? []
  })
  after(async () => {
    await server?.stop()
    for (const folder of [data, project]) folder[Symbol.dispose]()
  })

  test('prints where it listens, the project, the providers, the default model and two keys', () => {
    assert.match(server.output(), /^Portico is listening on http:\/\/127\.0\.0\.1:\d+$/m)
    assert.match(server.output(), new RegExp(`^ {2}project +${project.path}$`, 'm'))
    assert.match(server.output(), /^ {2}providers +portico$/m)
    assert.match(server.output(), /^ {2}model +portico\/echo$/m)
    assert.deepEqual(
      keys.map((key) => key.slice(0, 3)),
      ['mk-', 'sk-'],
    )
  })

  test('prints lines that work when pasted', { skip: noCurl }, () => pasteEverything(server))

  test('no key is stored in clear', async () => {
    const files = readdirSync(data.path, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
    assert.ok(files.length > 2)
    for (const { parentPath, name } of files) {
      const content = readFileSync(join(parentPath, name), 'latin1')
      for (const key of keys) assert.equal(content.includes(key.slice(11)), false, `${name} holds a key`)
    }
  })

  test('the process connects to nothing outside of this machine', () => {
    assert.doesNotMatch(server.output(), /may not connect/)
  })

  test('a later start shows no key and accepts those of the first, and its lines work when pasted', {
    skip: noCurl,
  }, async () => {
    await server.stop()
    server = await start()
    assert.doesNotMatch(server.output(), KEY)
    for (const [index, status] of [401, 200].entries()) {
      const headers = { authorization: `Bearer ${keys[index]}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ model: 'portico/echo', input: 'Hello' })
      const answer = await fetch(`${server.url}/api/v1/responses`, { method: 'POST', headers, body })
      assert.equal(answer.status === 200, status === 200, `${keys[index]?.slice(0, 3)} answered ${answer.status}`)
    }
    await pasteEverything(server)
  })
})

test('in the mode basic the printed lines work too', { skip: noCurl }, async () => {
  await withServer({ PORTICO_AUTH: 'basic', PORTICO_BASIC_PASSWORD: 'p \'$x"' }, [], async (server) => {
    await pasteEverything(server, { PORTICO_BASIC_PASSWORD: 'p \'$x"' })
  })
})

test('in the mode bearer a start says which roots to set, and with them the printed lines work', {
  skip: noCurl,
}, async () => {
  using data = scratchDirectory()
  const bearer = { PORTICO_AUTH: 'bearer', PORTICO_DATA_DIR: data.path, PORTICO_BOOTSTRAP_API_KEY: KEYS.api }
  let roots: string | undefined
  await withServer(bearer, [], async (server) => {
    roots = /^ {2}export PORTICO_PROJECT_ROOTS='(.+)'$/m.exec(server.output())?.[1]
  })
  const environment = { ...bearer, PORTICO_PROJECT_ROOTS: roots ?? assert.fail('no roots are named') }
  await withServer(environment, [], async (server) => {
    assert.doesNotMatch(server.output(), /PORTICO_PROJECT_ROOTS/)
    await pasteEverything(server, { PORTICO_API_KEY: KEYS.api })
  })
})

test('keys that the operator chose are accepted, and none is shown', async () => {
  const chosen = { PORTICO_BOOTSTRAP_API_KEY: KEYS.api, PORTICO_BOOTSTRAP_MANAGEMENT_KEY: KEYS.management }
  await withServer(chosen, [], async (server) => {
    assert.doesNotMatch(server.output(), /[sm]k-portico-/)
    const headers = { authorization: `Bearer ${KEYS.api}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'portico/echo', input: 'Hello' })
    assert.equal((await fetch(`${server.url}/api/v1/responses`, { method: 'POST', headers, body })).status, 200)
  })
})

test('the first configured provider gives the default model, and is not contacted at the start', async () => {
  const environment = { ANTHROPIC_API_KEY: 'not-a-key', OPENAI_API_KEY: 'not-a-key', OLLAMA_HOST: 'example.com' }
  await withServer(environment, [], async (server) => {
    assert.match(server.output(), /^ {2}providers +openai, anthropic, ollama, portico$/m)
    assert.match(server.output(), /^ {2}model +openai\/gpt-5\.5$/m)
    assert.doesNotMatch(server.output(), /not-a-key|may not connect/)
  })
})

test('the project directory is the given one, relative to where npm was called, or else where npm was called', async () => {
  using caller = scratchDirectory()
  const here = realpathSync(caller.path)
  mkdirSync(join(here, 'inner'))
  const cases: [environment: Record<string, string>, words: string[], project: string][] = [
    [{ INIT_CWD: here }, [], here],
    [{ INIT_CWD: here }, ['inner'], join(here, 'inner')],
    [{ INIT_CWD: here }, [join(here, 'inner')], join(here, 'inner')],
    [{ INIT_CWD: here, PORTICO_DIRECTORY: 'inner' }, [], join(here, 'inner')],
  ]
  for (const [environment, words, project] of cases) {
    await withServer(environment, words, async (server) => {
      const location = (await new InstanceClient(server.url).get('/api/location')) as { directory: string }
      assert.equal(location.directory, project)
      assert.match(server.output(), new RegExp(`^ {2}project +${project}$`, 'm'))
    })
  }
})

async function withServer(
  environment: Record<string, string>,
  words: string[],
  run: (server: Process) => Promise<void>,
): Promise<void> {
  using data = scratchDirectory()
  const server = await startProcess(
    'main.ts',
    { PORTICO_PORT: '0', PORTICO_DATA_DIR: data.path, ...NPM, ...environment },
    words,
  )
  try {
    await run(server)
  } finally {
    await server.stop()
  }
}

/** Pastes what a start prints into a shell, line by line, and checks the output. */
async function pasteEverything(server: Process, environment: Record<string, string> = {}): Promise<void> {
  const lines = server
    .output()
    .split('\n')
    .filter((line) => /^ {2}(curl|export) /.test(line))
  const watching = lines.find((line) => line.includes('/api/event')) ?? assert.fail('no line that watches')
  using events = watch(watching, environment)
  await waitFor('the event stream', () => events.text().includes('data:'))
  const pasted = lines.filter((line) => line !== watching)
  const script = pasted.map((line) => (line.startsWith('  curl') ? `${line}\nprintf '\\036'` : line)).join('\n')
  const { code, stdout, stderr } = await runToEnd('sh', ['-e', '-c', script], environment)
  assert.deepEqual([code, stderr.replace(/^(Created|Store:) .*\n/gm, '')], [0, ''])
  const [created, prompted, waited, messages, response, stream] = stdout.split('\x1e')
  const sessionId = (JSON.parse(created ?? '') as { data: { id: string } }).data.id
  assert.match(sessionId, /^ses_tour\d+$/)
  const { data: prompt } = JSON.parse(prompted ?? '') as { data: { id: string; sessionID: string } }
  assert.equal(prompt.sessionID, sessionId)
  assert.equal(waited, '')
  const { data } = JSON.parse(messages ?? '') as { data: WireMessage[] }
  assert.equal(data[0]?.id, prompt.id)
  assert.deepEqual([data.at(-1)?.type, data.at(-1)?.outcome], ['idle', 'succeeded'])
  assert.ok(
    data.some(({ content = [] }) => content.some(({ type }) => type === 'tool')),
    'the agent used no tool',
  )
  assert.equal((JSON.parse(response ?? '') as { status: string }).status, 'completed')
  assert.match(stream ?? '', /^data: \{"type":"response\.created"[\s\S]*\ndata: \{"type":"response\.completed"/)
  await waitFor('the end of the run among the events', () => events.text().includes('session.execution.succeeded'))
}

function watch(line: string, environment: Record<string, string>): Disposable & { text(): string } {
  const child = spawn('sh', ['-c', line], {
    env: { ...process.env, ...environment },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk
  })
  return { text: () => text, [Symbol.dispose]: () => void process.kill(-(child.pid ?? 0), 'SIGKILL') }
}
