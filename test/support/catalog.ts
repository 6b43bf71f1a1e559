import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Client, createClient } from '@connectrpc/connect'
import { pino } from 'pino'
import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { Config } from '#services/catalog/config.ts'
import { open } from '#services/catalog/open.ts'
import { callOptions, type Principal } from '#shared/call-context.ts'
import { systemClock } from '#shared/clock.ts'
import { createLocalTransport } from '#shared/local-transport.ts'
import type { Routes } from '#shared/routes.ts'

const operator: Principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: '', kind: 'local-operator' }

/** Options of a call by the person at the machine. */
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
  readonly warnings: readonly { readonly path?: string; readonly problem?: string }[]
  /** Moves the clock that says how old an answer is. */
  advance(milliseconds: number): void
}

/** Opens a catalog service; disposing the answer ends it and removes its folder. */
export async function openCatalog(overrides: Partial<Config> = {}): Promise<CatalogFixture> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'portico-catalog-')))
  const [project, config, outside] = ['project', 'config', 'outside'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const directory of [project, config, outside]) await mkdir(directory)
  const warnings: { path?: string; problem?: string }[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line)) })
  let offset = 0
  const clock = { now: () => systemClock.now(), monotonic: () => systemClock.monotonic() + offset }
  const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: folder }
  const whole = { directory: project, configDirectory: config, home: folder, roots: {}, environment, ...overrides }
  const service = await open(whole, { clock, logger })
  return {
    routes: service.routes,
    client: createClient(CatalogService, createLocalTransport(service.routes)),
    project,
    config,
    outside,
    warnings,
    advance: (milliseconds) => {
      offset += milliseconds
    },
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
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
