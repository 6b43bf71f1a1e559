import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { JsonObject } from '@bufbuild/protobuf'
import { type Client, createClient } from '@connectrpc/connect'
import { pino } from 'pino'
import type { ToolFile } from '#gen/portico/catalog/v1/catalog_pb.js'
import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { Config } from '#services/catalog/config.ts'
import { open } from '#services/catalog/open.ts'
import { systemClock } from '#shared/clock.ts'
import { randomId } from '#shared/ids.ts'
import { reasonOf } from '#shared/reasons.ts'
import { callOptions, type Principal } from '#shared/rpc/call-context.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { type Connect, connectLocal, forEachTransport } from '#test/support/transports.ts'

const operator: Principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: '', kind: 'local-operator' }

/** Options of a call by the local operator. */
export const asOperator = callOptions({ principal: operator })

/** Options of a call by a key of workspace `wrk_1`. */
export const asWorkspace = callOptions({ principal: { ...operator, apiKeyId: 'key_1', kind: 'workspace' } })

/** A catalog service of its own, with a folder of its own. */
export interface CatalogFixture extends AsyncDisposable {
  readonly routes: Routes
  readonly client: Client<typeof CatalogService>
  /** Project directory, a real path; also the default one. */
  readonly project: string
  /** Global configuration directory. */
  readonly config: string
  /** A directory beside the project. */
  readonly outside: string
  /** Log lines of level warn and above. */
  readonly warnings: readonly Readonly<Record<string, string>>[]
  /** Moves the clock that decides how old an answer is. */
  advance(milliseconds: number): void
  /** From now on that clock only moves on demand. */
  stopClock(): void
}

/** Opens a catalog service; disposing the result ends it and removes its folder. */
export async function openCatalog(
  overrides: Partial<Config> = {},
  connect: Connect = connectLocal,
): Promise<CatalogFixture> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'portico-catalog-')))
  const [project, config, outside] = ['project', 'config', 'outside'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const directory of [project, config, outside]) await mkdir(directory)
  const warnings: Record<string, string>[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line)) })
  let offset = 0
  let stoppedAt: number | undefined
  const clock = { now: () => systemClock.now(), monotonic: () => (stoppedAt ?? systemClock.monotonic()) + offset }
  const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: folder }
  const limits = { trustedDirectories: [], processesPerCore: 16, locationIdleSeconds: 300 }
  const ofPlugins = { pluginLoadSeconds: 10, pluginHookSeconds: 5, pluginMemoryMib: 256 }
  const packages = { pluginDirectory: join(folder, 'plugins'), pluginRegistry: 'http://127.0.0.1:9' }
  const own = {
    directory: project,
    configDirectory: config,
    home: folder,
    roots: {},
    environment,
    variable: () => undefined,
  }
  const whole: Config = { ...limits, ...ofPlugins, ...packages, ...own, ...overrides }
  const service = await open(whole, { clock, logger })
  const connection = await connect(service.routes)
  return {
    routes: service.routes,
    client: createClient(CatalogService, connection.transport),
    project,
    config,
    outside,
    warnings,
    advance: (milliseconds) => {
      offset += milliseconds
    },
    stopClock: () => {
      stoppedAt = systemClock.monotonic()
    },
    [Symbol.asyncDispose]: async () => {
      await connection[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Defines a test of a catalog service of its own, once for each way to call it. */
export function catalogTest(title: string, body: (catalog: CatalogFixture) => Promise<void>): void {
  forEachTransport((name, connect) => {
    test(`${title} (${name})`, async () => {
      await using catalog = await openCatalog({}, connect)
      await body(catalog)
    })
  })
}

/** Runs a tool call to its end, with permission for what it touches. */
export async function runTool(
  { client }: CatalogFixture,
  name: string,
  input: JsonObject,
  call: { readonly callId?: string; readonly fence?: bigint; readonly signal?: AbortSignal } = {},
): Promise<ToolEnd> {
  const { accesses } = await client.prepareTool({ name, input }, asOperator)
  const { signal, callId = randomId('call'), fence = 1n } = call
  const request = { sessionId: 'ses_1', callId, fence, name, input, grant: accesses }
  const progress: JsonObject[] = []
  let end: ToolEnd | undefined
  for await (const { event } of client.runTool(request, { ...asOperator, ...(signal && { signal }) })) {
    if (event.case === 'progressed') {
      progress.push(event.value.metadata ?? {})
    } else if (event.value !== undefined) {
      const { metadata = {}, content } = event.value
      const text = content.map((part) => (part.content.case === 'text' ? part.content.value : '')).join('')
      const files = content.flatMap((part) => (part.content.case === 'file' ? [fileIn(part.content.value)] : []))
      const failure = event.case === 'failed' ? { type: event.value.type, message: event.value.message } : undefined
      end = { text, files, metadata, failure, progress }
    }
  }
  assert.ok(end, 'the stream says how the call ended')
  return end
}

function fileIn({ mime, name, source }: ToolFile) {
  return { mime, name, data: source.case === 'data' ? source.value : new Uint8Array() }
}

/** How a tool call ended. */
export interface ToolEnd {
  readonly text: string
  readonly files: readonly ReturnType<typeof fileIn>[]
  readonly metadata: JsonObject
  readonly failure: { readonly type: string; readonly message: string } | undefined
  readonly progress: readonly JsonObject[]
}

/** Whether an error is this rejection, for assert.rejects. */
export function rejection(reason: string, metadata: Readonly<Record<string, string>> = {}) {
  return (error: unknown): true => {
    const found = reasonOf(error)
    assert.deepEqual({ reason: found?.reason, metadata: { ...found?.metadata } }, { reason, metadata })
    return true
  }
}

/** A number of seconds that no other command of a test sleeps, so that `processesWith` finds it. */
export function longSleep(): string {
  return String(randomInt(10 ** 11, 10 ** 12))
}

/** Process ids of processes whose command line contains a text. */
export async function processesWith(text: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return pids.filter((_, index) => lines[index]?.includes(text))
}

/** Writes files (path → text) below a directory. */
export async function writeFiles(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await writeFile(join(directory, path), text)
  }
}

/** Runs git with neither the machine's nor the user's configuration. */
export function git(directory: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'init.defaultBranch=main']
  const env = { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }
  return execFileSync('git', [...identity, ...args], { cwd: directory, env, encoding: 'utf8', stdio: 'pipe' }).trim()
}
