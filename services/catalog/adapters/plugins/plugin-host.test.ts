import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duplex, PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { writeFiles } from '#test/support/catalog.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { SupervisedCommand } from '../commands/supervised-command.ts'
import { PluginHost } from './plugin-host.ts'
import { PluginRun } from './plugin-run.ts'

const LOGGER = pino({ level: 'silent' })
const PATH = process.env.PATH ?? '/usr/bin:/bin'

/** A process for plugins, in a folder of its own with these files. */
async function openHost(
  files: Readonly<Record<string, string>>,
  { observe = (_: Buffer) => {}, loads = 2 }: { observe?: (chunk: Buffer) => void; loads?: number } = {},
) {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'portico-host-')))
  await writeFiles(directory, files)
  let channel: Socket | undefined
  const host = await PluginHost.start({
    start: async (options) => {
      const command = await SupervisedCommand.start(options, tmpdir())
      if (command.channel instanceof Socket) channel = command.channel
      command.output.on('data', observe)
      return command
    },
    ...{ directory, environment: { PATH }, loads, logger: LOGGER },
  })
  return {
    directory,
    host,
    /** Bytes that were read from its channel. */
    bytesRead: () => channel?.bytesRead ?? Number.NaN,
    start: (entry: string) => ({
      ...{ entry: join(directory, entry), options: null, directory },
      ...{ memoryBytes: 256 << 20, blockedMs: 4_000 },
    }),
    [Symbol.asyncDispose]: async () => {
      await host[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

test('a process that is silent for 16 seconds after its start is pinged if anything is expected of it, and counts as ended', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const sent: string[] = []
  const channel = new Duplex({
    read() {},
    write(chunk, _, done) {
      sent.push(JSON.parse(String(chunk)).type)
      done()
    },
  })
  const command = {
    ...{ output: new PassThrough(), channel, ended: new Promise<never>(() => {}), terminate: async () => {} },
    [Symbol.asyncDispose]: async () => {},
  }
  const host = await PluginHost.start({
    start: async () => command,
    ...{ directory: '/', environment: {}, loads: 2, logger: LOGGER },
  })
  const module = { entry: '/a.mjs', options: null, directory: '/', memoryBytes: 1, blockedMs: 1 }
  host.run(module, { busy: true, started() {}, message() {}, failed() {} })
  let end: unknown
  void host.ended.then((ended) => {
    end = ended
  })
  t.mock.timers.tick(14_000)
  assert.deepEqual(sent, ['open', 'start'])
  t.mock.timers.tick(2_000)
  assert.deepEqual(sent, ['open', 'start', 'ping'])
  await waitFor('its end', () => end !== undefined)
  assert.deepEqual(end, { code: null, signal: 'SIGSTOP' })
  await host[Symbol.asyncDispose]()
})

test('messages of a plugin’s former thread are not taken for its successor’s', async () => {
  await using opened = await openHost({
    'old.mjs': `import { writeFileSync } from 'node:fs'
      writeFileSync('began', '')
      throw new Error('the old one')`,
    'new.mjs': 'export default { id: "new", setup() {} }',
  })
  const { host, directory, start } = opened
  const observed: string[] = []
  const listen = (name: string) => ({
    busy: false,
    started: () => void observed.push(`${name} started`),
    message: (text: string) => void observed.push(`${name} sent ${JSON.parse(text).type}`),
    failed: (error: string) => void observed.push(`${name} failed: ${error}`),
  })
  const old = host.run(start('old.mjs'), listen('old'))
  await waitFor('the old one', () => existsSync(join(directory, 'began')))
  // Messages of the old run wait in the channel.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  host.end(old)
  host.run(start('new.mjs'), listen('new'))
  await waitFor('the new one', () => observed.includes('new sent ready'))
  await delay(100)
  assert.deepEqual(
    observed.filter((text) => !text.startsWith('old')),
    ['new started', 'new sent loaded', 'new sent ready'],
  )
})

test('plugins load a few at a time, and the time limit of each starts when it begins to load', async (t) => {
  const source = (id: string) => `import { existsSync } from 'node:fs'
    const delay = () => new Promise((resolve) => setTimeout(resolve, 10))
    export default {
      id: '${id}',
      async setup() { while (!existsSync(import.meta.dirname + '/go-${id}')) await delay() },
    }`
  await using opened = await openHost({ 'one.mjs': source('one'), 'two.mjs': source('two') }, { loads: 1 })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const observed: string[] = []
  const loadMs = 10_000
  const run = (name: string) => {
    const begun = Promise.withResolvers<void>()
    const { loaded } = new PluginRun(opened.host, {
      ...{ start: opened.start(`${name}.mjs`), loadMs },
      loaded: () => {
        observed.push(`${name} begins`)
        begun.resolve()
      },
      ready: () => void observed.push(`${name} is ready`),
      failed: (error) => begun.reject(new Error(`${name}: ${error}`)),
    })
    return async () => {
      await begun.promise
      t.mock.timers.tick(loadMs - 1)
      await writeFiles(opened.directory, { [`go-${name}`]: '' })
      await loaded
    }
  }
  const ended = new PluginRun(opened.host, {
    ...{ start: opened.start('one.mjs'), loadMs, loaded() {}, ready() {}, failed() {} },
  })
  const [one, two] = [run('one'), run('two')]
  ended.end(new Error('It is not wanted'))
  await one()
  await two()
  assert.deepEqual(observed, ['one begins', 'one is ready', 'two begins', 'two is ready'])
  t.mock.timers.reset()
})

test('endless output is read slowly', async () => {
  let read = 0
  const files = {
    'prints.mjs': `import { writeSync } from 'node:fs'
      const text = Buffer.alloc(1 << 20, 'y')
      for (;;) try { writeSync(1, text) } catch {}`,
  }
  const observe = (chunk: Buffer): void => {
    read += chunk.length
  }
  await using opened = await openHost(files, { observe })
  opened.host.run(opened.start('prints.mjs'), { busy: false, started() {}, message() {}, failed() {} })
  await waitFor('the text', () => read > 1 << 20)
  await delay(1_500)
  assert.ok(read < 8 << 20, `${read} bytes`)
})

test('an error is cut, however long it is', async () => {
  await using opened = await openHost({ 'long.mjs': `throw new Error('y'.repeat(2e7))` })
  const failed = Promise.withResolvers<string>()
  opened.host.run(opened.start('long.mjs'), { busy: false, started() {}, message() {}, failed: failed.resolve })
  const error = await Promise.race([failed.promise, opened.host.ended])
  assert.equal(typeof error === 'string' && error.length, 2_000)
})

const FORGED: Readonly<Record<string, string>> = {
  garbage: "'garbage\\n'",
  'the failure of its neighbour': `'{"run":1,"type":"failed","error":"forged"}\\n'`,
  'the start of its neighbour': `'{"run":1,"type":"started"}\\n'`,
  'an answer of the process': `'{"type":"pong"}\\n'`,
  '100 MB of lines': "'{}\\n'.repeat(35e6)",
  '100 MB without an end': "'x'.repeat(1e8)",
}

for (const [what, text] of Object.entries(FORGED)) {
  test(`a plugin that writes to the channel of its process ends that process, and says nothing for others: ${what}`, async () => {
    await using opened = await openHost({
      'neighbour.mjs': 'export default { id: "neighbour", setup() {} }',
      'hostile.mjs': `import { writeSync } from 'node:fs'
        let rest = Buffer.from(${text})
        while (rest.length > 0) try { rest = rest.subarray(writeSync(4, rest)) } catch {}
        setInterval(() => {}, 1_000)`,
    })
    const { host, start, bytesRead } = opened
    const observed: string[] = []
    const ready = Promise.withResolvers<void>()
    const message = (text: string): void => {
      if (JSON.parse(text).type === 'ready') ready.resolve()
    }
    const listen = {
      busy: false,
      started: () => void observed.push('started'),
      failed: (error: string) => void observed.push(error),
    }
    host.run(start('neighbour.mjs'), { ...listen, message })
    await ready.promise
    host.run(start('hostile.mjs'), { busy: false, started() {}, message() {}, failed() {} })
    assert.match((await host.ended).misuse ?? '', /that the process did not send|more than 16777216 bytes/)
    assert.deepEqual(observed, ['started'])
    assert.ok(bytesRead() < 20e6, `${bytesRead()} bytes`)
  })
}
