// The cost of directories with plugins and MCP servers: the time for listing them, for calling a tool in each, and for
// giving up their processes; memory and processes meanwhile, and how late another request is answered. Linux only.
// Usage: locations.ts [COUNT]
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { commandOf, descendants, memory, ticks } from './harness/process-usage.ts'
import { startServer } from './harness/server.ts'

const { positionals } = parseArgs({ allowPositionals: true })
const count = Number(positionals[0] ?? 50)
const [PLUGINS, SERVERS] = [5, 3]
const IDLE_SECONDS = 90
const SAMPLE_MS = 250
/** Matches the command lines of working processes, but not of their supervisors. */
const WORKERS = /server-(everything|filesystem)\/dist|plugins\/host\/host\.ts/
const packages = join(import.meta.dirname, '../node_modules/@modelcontextprotocol')

const folder = await mkdtemp(join(tmpdir(), 'portico-locations-'))
try {
  const directories = Array.from({ length: count }, (_, n) => join(folder, 'projects', String(n)))
  await Promise.all(directories.map(makeProject))
  await using server = await startServer({
    file: 'main.ts',
    words: [directories[0] ?? folder],
    env: {
      HOME: folder,
      PORTICO_PORT: '0',
      PORTICO_DATA_DIR: join(folder, 'data'),

      PORTICO_TRUSTED_DIRECTORIES: JSON.stringify([folder]),
      PORTICO_LOCATION_IDLE_SECONDS: String(IDLE_SECONDS),
    },
  })
  const pid = server.process.pid ?? 0
  const ask = async (path: string, init?: RequestInit): Promise<string> => {
    const answer = await fetch(`${server.url}/api/${path}`, init)
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
    return text
  }
  const at = (path: string, directory: string) => `${path}?location[directory]=${encodeURIComponent(directory)}`
  const session = (n: number) => `session/ses_bench${n}`
  await ask('session', json({ id: 'ses_other' }))

  await measure('at rest', () => pause(3_000))
  await measure('listed until all plugins are active and all tools known', async () => {
    await Promise.all(
      directories.map(async (directory) => {
        const listed = async (path: string, item: RegExp, items: number): Promise<void> => {
          while ((await ask(at(path, directory))).match(item)?.length !== items) await pause(1_000)
        }
        await Promise.all([listed('plugin', /"status":"active"/g, PLUGINS), listed('mcp', /"tools":[1-9]/g, SERVERS)])
      }),
    )
  })
  await measure('a call of a plugin and of an MCP server in each', () =>
    Promise.all(
      directories.map(async (directory, n) => {
        const permissions = [{ action: '*', resource: '*', effect: 'allow' }]
        await ask('session', json({ id: `ses_bench${n}`, location: { directory }, permissions }))
        const text = `/tool greet0 {"name":"Ada"}\n/tool everything_echo {"message":"Ada"}`
        await ask(`${session(n)}/prompt`, json({ text }))
        await ask(`${session(n)}/wait`, json({}))
        const messages = await ask(`${session(n)}/message`)
        if (messages.split('"completed"').length < 3) throw new Error(messages)
      }),
    ),
  )
  await measure('until the last process is given back', async () => {
    while (working(pid) > 0) await pause(SAMPLE_MS)
  })

  /** Does it while another request is repeated continuously. */
  async function measure(name: string, work: () => Promise<unknown>): Promise<void> {
    const [late, most] = [[] as number[], { processes: 0, megabytes: 0 }]
    let busy = true
    const sample = (): void => {
      most.processes = Math.max(most.processes, working(pid))
      most.megabytes = Math.max(most.megabytes, memory(pid))
    }
    const sampling = setInterval(sample, SAMPLE_MS)
    const asking = (async () => {
      while (busy) {
        const since = performance.now()
        await ask('session/ses_other')
        late.push(performance.now() - since)
        await pause(20)
      }
    })()
    const [since, ticksBefore] = [performance.now(), ticks(pid)]
    try {
      await work()
    } finally {
      busy = false
      clearInterval(sampling)
    }
    const seconds = (performance.now() - since) / 1_000
    const cpu = (ticks(pid) - ticksBefore) / 100
    await asking
    sample()
    late.sort((a, b) => a - b)
    const share = (of: number): string => (late[Math.floor((late.length - 1) * of)] ?? 0).toFixed(0)
    process.stdout.write(
      `${name}: ${seconds.toFixed(1)} s, ${cpu.toFixed(1)} s of CPU; at most ${most.processes} plugin hosts and MCP servers alive, ` +
        `${most.megabytes} MB with all processes; another request took ${share(0.5)} ms (median), ${share(0.99)} (99%), ${share(1)} (longest)\n`,
    )
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function makeProject(directory: string): Promise<void> {
  await mkdir(join(directory, '.opencode/plugins'), { recursive: true })
  const local = (name: string, ...words: readonly string[]) => ({
    type: 'local',
    command: [process.execPath, join(packages, `server-${name}/dist/index.js`), ...words],
  })
  const mcp = {
    everything: local('everything'),
    files: local('filesystem', directory),
    plugins: local('filesystem', join(directory, '.opencode/plugins')),
  }
  await writeFile(join(directory, 'opencode.json'), JSON.stringify({ mcp }))
  const greeter = await readFile(join(import.meta.dirname, '../examples/plugins/greeter.mjs'), 'utf8')
  for (let n = 0; n < PLUGINS; n++) {
    const plugin = greeter.replace("'greeter'", `'greeter${n}'`).replace("'greet'", `'greet${n}'`)
    await writeFile(join(directory, `.opencode/plugins/greeter${n}.mjs`), plugin)
  }
}

/** The number of plugin hosts and MCP servers that are alive below a process. */
function working(pid: number): number {
  return descendants(pid).filter((child) => WORKERS.test(commandOf(child))).length
}

function json(body: object): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
