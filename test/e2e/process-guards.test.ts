import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { InstanceClient } from '#test/support/instance-client.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { type Process, scratchDirectory } from '#test/support/processes.ts'
import { type Product, type Setting, startSingle, startSplit } from '#test/support/product.ts'
import { waitFor } from '#test/support/wait-until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
// A loop that never ends, but leaves the processor to other tests.
const STAND = 'const%20m=new%20Int32Array(new%20SharedArrayBuffer(4));for(;;)Atomics.wait(m,0,0,20)'
// At this signal the main thread blocks for ever, as no signal of a user could make it.
const SPIN = `data:text/javascript,process.on('SIGUSR2',()=>{${STAND}})`
const spinning = { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${SPIN}`, PORTICO_WATCHDOG_SECONDS: '10' }
// The first interval is that of the watchdog: as soon as it has begun, the process blocks.
const STANDING_START = `data:text/javascript,const%20begin=setInterval;globalThis.setInterval=(...all)=>{queueMicrotask(()=>{${STAND}});return%20begin(...all)}`

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0

describe('one process', () => {
  guards(startSingle)

  test('without a supervisor of commands the log says so in one line, and commands still run', async () => {
    using data = scratchDirectory()
    using project = scratchDirectory()
    const unknown = `data:text/javascript,Object.defineProperty(process,'arch',{value:'unknown'})`
    const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${unknown}`
    using tools = scratchDirectory()
    const pipes = join(tools.path, 'pipes')
    // With a pipe in the folder that it creates.
    writeFileSync(
      join(tools.path, 'mkfifo'),
      `#!/bin/sh\necho "$3" > ${pipes}\nPATH=/usr/bin:/bin exec mkfifo "$@"\n`,
      {
        mode: 0o755,
      },
    )
    const remnant = join(data.path, 'scratch/portico-pipe-of-a-process-that-was-killed')
    mkdirSync(remnant, { recursive: true })
    utimesSync(remnant, new Date(0), new Date(0))
    const PATH = `${tools.path}:${process.env.PATH}`
    const environment = { NODE_OPTIONS, PATH, PORTICO_LOG_LEVEL: 'warn' }
    const product = await startSingle({ dataDirectory: data.path, project: project.path, environment })
    try {
      const client = new InstanceClient(product.url)
      const sessionId = await client.createSession()
      await client.prompt(sessionId, { text: '/tool bash {"command":"echo on"}' })
      await client.wait(sessionId)
      assert.match(JSON.stringify(await client.messages(sessionId)), /"text":"on"/)
      const lines =
        product
          .processes()[0]
          ?.output()
          .match(/^.*no perl.*$/gm) ?? []
      assert.deepEqual(
        lines.map((line) => JSON.parse(line).level),
        ['warn'],
      )
      // Below the data folder, where a kill leaves nothing for others to find.
      assert.equal(readFileSync(pipes, 'utf8').startsWith(join(data.path, 'scratch/portico-pipe-')), true)
      assert.deepEqual(readdirSync(join(data.path, 'scratch')), [])
    } finally {
      await product.stop()
    }
  })

  test('a prompt that a blocked process had accepted runs at the next start', async () => {
    using data = scratchDirectory()
    using project = scratchDirectory()
    const setting = { dataDirectory: data.path, project: project.path }
    const first = await startSingle({ ...setting, environment: spinning })
    const sessionId = await new InstanceClient(first.url).createSession()
    const before = new InstanceClient(first.url)
    await before.prompt(sessionId, { text: '/slow 600000\n/length 2' })
    // An interrupt ends what runs; what still waits begins after it.
    await waitFor('the first run', async () => {
      return (await before.messages(sessionId)).some(({ type }) => type === 'assistant')
    })
    await before.prompt(sessionId, { text: '/length 2', delivery: 'queue' })
    await endsByWatchdog(first.processes()[0])
    const second = await startSingle(setting)
    try {
      const client = new InstanceClient(second.url)
      await client.post(`/api/session/${sessionId}/interrupt`, undefined)
      await client.prompt(sessionId, { text: '/length 1', delivery: 'queue' })
      await client.wait(sessionId)
      const users = (await client.messages(sessionId)).filter(({ type }) => type === 'user')
      assert.equal(users.length, 3)
    } finally {
      await second.stop()
    }
  })
})

describe('five processes', { skip: skipWithoutMongo }, () => {
  const database = freshDatabaseName()
  const environment = { PORTICO_MONGODB_DATABASE: database }
  guards((setting) => {
    return startSplit(mongoUri() ?? '', { ...setting, environment: { ...environment, ...setting.environment } })
  })
  after(() => dropDatabase(database))
})

// Both wait for ten seconds.
describe('a start', { concurrency: true }, () => {
  for (const entry of ['main.ts', 'services/catalog/main.ts']) {
    test(`that blocks the event loop is ended, too (${entry})`, async () => {
      using data = scratchDirectory()
      const child = spawn(process.execPath, ['--disable-sigusr1', join(ROOT, entry)], {
        env: {
          ...{ ...process.env, PORTICO_DATA_DIR: data.path, PORTICO_DIRECTORY: data.path, PORTICO_PORT: '0' },
          ...{
            PORTICO_SERVICE_PORT: '0',
            PORTICO_INTERNAL_SECRET: 'only for this test',
            PORTICO_WATCHDOG_SECONDS: '1',
          },
          NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${STANDING_START}`,
        },
        stdio: ['ignore', 'pipe', 'inherit'],
        // Where nothing else ends it.
        ...({ timeout: 120_000, killSignal: 'SIGABRT' } as const),
      })
      let output = ''
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk
      })
      assert.deepEqual(await once(child, 'close'), [null, 'SIGKILL'])
      assert.match(output, /^\{"level":"fatal".*not turned for 10 s \(while it started/m)
    })
  }
})

function guards(start: (setting: Setting) => Promise<Product>): void {
  describe('under attack by signals and limits', () => {
    const data = scratchDirectory()
    const project = scratchDirectory()
    let product: Product
    let client: InstanceClient

    before(async () => {
      product = await start({ dataDirectory: data.path, project: project.path })
      client = new InstanceClient(product.url)
    })
    after(async () => {
      assert.equal(await product.stop(), 0)
      for (const folder of [data, project]) folder[Symbol.dispose]()
    })

    test('SIGUSR1 from another process or from a tool opens no inspector', {
      skip: process.platform !== 'linux',
    }, async () => {
      const before = product.pids().map(listeningSockets)
      for (const pid of product.pids()) process.kill(pid, 'SIGUSR1')
      const sessionId = await client.createSession()
      const command = `kill -USR1 $PPID ${product.pids().join(' ')}; sleep 1; echo alive`
      await client.prompt(sessionId, { text: `/tool bash ${JSON.stringify({ command })}` })
      await client.wait(sessionId)
      assert.match(JSON.stringify(await client.messages(sessionId)), /"alive"/)
      assert.deepEqual(product.pids().map(listeningSockets), before)
      for (const { output } of product.processes()) assert.doesNotMatch(output(), /[Dd]ebugger/)
    })

    test('a command is an error of the tool while no file descriptor is free, and the next one runs', {
      skip: !hasPrlimit && 'needs prlimit',
    }, async () => {
      const sessionId = await client.createSession()
      const run = async (text: string): Promise<string> => {
        await client.prompt(sessionId, { text: `/tool bash ${JSON.stringify({ command: `echo ${text}` })}` })
        await client.wait(sessionId)
        return JSON.stringify((await client.messages(sessionId)).slice(-3))
      }
      assert.match(await run('before'), /"text":"before"/)
      // Of the whole product the catalog alone starts processes.
      const pid =
        product.processes().find(({ output }) => /"service":"(catalog|portico)"/.test(output()))?.child.pid ?? 0
      // Starting a process takes six; the work that reads files, four at once, still succeeds.
      const limit = limitFree(pid, 5)
      assert.match(await run('short'), /not_started/)
      limitDescriptors(pid, limit)
      assert.match(await run('after'), /"text":"after"/)
    })
  })

  test('each process whose event loop is blocked ends itself, with one line', async () => {
    using data = scratchDirectory()
    using project = scratchDirectory()
    const product = await start({ dataDirectory: data.path, project: project.path, environment: spinning })
    try {
      await Promise.all(product.processes().map(endsByWatchdog))
    } finally {
      await product.kill()
    }
  })
}

/** From now on a process has that many free descriptors; returns its former limit. */
function limitFree(pid: number, free: number): string {
  const used = readdirSync(`/proc/${pid}/fd`).map(Number)
  let limit = free
  while (limit - used.filter((descriptor) => descriptor < limit).length < free) limit++
  const before = /^Max open files +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1] ?? assert.fail()
  limitDescriptors(pid, String(limit))
  return before
}

function limitDescriptors(pid: number, limit: string): void {
  assert.equal(spawnSync('prlimit', [`--pid=${pid}`, `--nofile=${limit}:`]).status, 0)
}

async function endsByWatchdog(process: Process | undefined): Promise<void> {
  assert.ok(process)
  const ended = once(process.child, 'close')
  process.child.kill('SIGUSR2')
  await waitFor('the end of the process', () => process.child.signalCode !== null || process.child.exitCode !== null)
  await ended
  assert.equal(process.child.signalCode, 'SIGKILL')
  const lines = process.output().match(/^.*The event loop has not turned for 10 s.*$/gm) ?? []
  assert.equal(lines.length, 1)
  assert.equal(JSON.parse(lines[0] ?? '').level, 'fatal')
}

/** The TCP sockets that a process listens on. */
function listeningSockets(pid: number): string[] {
  const tables = ['tcp', 'tcp6'].map((table) => readFileSync(`/proc/${pid}/net/${table}`, 'utf8').split('\n'))
  const listening = tables.flat().flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
    return state === '0A' ? [[`socket:[${inode}]`, local] as const] : []
  })
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`))
  return listening.flatMap(([link, local]) => (links.includes(link) ? [local] : [])).sort()
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
