// How late another request is answered while plugins flood a channel: that of their thread, and that of their process,
// one after another; for comparison, nothing. Linux only; ends after at most 30 s.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from './harness/server.ts'

const FLOODS = {
  nothing: `return 'It is calm.'`,
  'the channel of its thread': `for (;;) parentPort.postMessage('x'.repeat(1_000))`,
  'the channel of its process': `for (;;) try { writeSync(4, 'x'.repeat(65_536)) } catch {}`,
}
/** Number of plugins that flood each. */
const COUNT = 4
const REST_MS = 3_000
const BOUND = AbortSignal.timeout(30_000)

const folder = await mkdtemp(join(tmpdir(), 'portico-flood-'))
try {
  await makePlugins(join(folder, '.config/opencode/plugins'))
  await mkdir(join(folder, 'project'))
  await using server = await startServer({
    file: 'main.ts',
    words: [join(folder, 'project')],
    env: { HOME: folder, PORTICO_PORT: '0', PORTICO_DATA_DIR: join(folder, 'data') },
  })
  const ask = async (path: string, body?: object): Promise<string> => {
    const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const answer = await fetch(`${server.url}/api/${path}`, { ...(body && post), signal: BOUND })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
    return text
  }
  await ask('session', { id: 'ses_other' })
  const loaded = await ask('plugin')
  if (loaded.includes('"failed"')) throw new Error(loaded)

  const measure = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    const late: number[] = []
    let busy = true
    const asking = (async () => {
      while (busy) {
        const since = performance.now()
        await ask('session/ses_other')
        late.push(performance.now() - since)
        await pause(5)
      }
    })()
    const since = performance.now()
    await work()
    const seconds = (performance.now() - since) / 1_000
    busy = false
    await asking
    late.sort((a, b) => a - b)
    const share = (of: number): string => (late[Math.floor((late.length - 1) * of)] ?? 0).toFixed(1)
    process.stdout.write(
      `${name}: ${seconds.toFixed(1)} s; another request took ${share(0.5)} ms (median), ${share(0.99)} (99%), ` +
        `${share(1)} (longest of ${late.length})\n`,
    )
  }
  await measure('at rest', () => pause(REST_MS))
  for (const [kind, what] of Object.keys(FLOODS).entries()) {
    await measure(`${COUNT} calls of plugins that flood ${what}`, async () => {
      for (let n = 0; n < COUNT; n++) {
        const session = `session/ses_flood${kind}${n}`
        const permissions = [{ action: '*', resource: '*', effect: 'allow' }]
        await ask('session', { id: session.slice(8), permissions })
        await ask(`${session}/prompt`, { text: `/tool flood${kind}${n} {}` })
        await ask(`${session}/wait`, {})
        const messages = await ask(`${session}/message`)
        if (!/plugin has (failed|ended)|It is calm/.test(messages)) throw new Error(messages)
      }
    })
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function makePlugins(plugins: string): Promise<void> {
  await mkdir(plugins, { recursive: true })
  for (const [kind, flood] of Object.values(FLOODS).entries()) {
    for (let n = 0; n < COUNT; n++) {
      const name = `flood${kind}${n}`
      const source = `import { writeSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
const inputSchema = { type: 'object' }
const execute = () => { ${flood} }
export default { id: '${name}', setup: ({ tool }) => tool({ name: '${name}', description: 'Floods.', inputSchema, execute }) }
`
      await writeFile(join(plugins, `${name}.js`), source)
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
