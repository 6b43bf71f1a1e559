import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { serviceClosing } from '#shared/rpc/server-reasons.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { commandStarter } from './adapters/commands/find-supervisor.ts'
import { sweepOutputPipes } from './adapters/commands/output-pipe.ts'
import { Configuration } from './adapters/configuration/configuration.ts'
import { TrustedDirectories } from './adapters/configuration/trusted-directories.ts'
import { agentFiles } from './adapters/definitions/agent-files.ts'
import { FileSource } from './adapters/definitions/file-source.ts'
import { instructionFiles } from './adapters/definitions/instruction-files.ts'
import { skillFiles } from './adapters/definitions/skill-files.ts'
import { FileAttachments } from './adapters/files/file-attachments.ts'
import { GuardedFiles } from './adapters/files/guarded-files.ts'
import { FileLocations } from './adapters/locations/file-locations.ts'
import { WorkspaceRoots } from './adapters/locations/workspace-roots.ts'
import { McpSource } from './adapters/mcp/mcp-source.ts'
import { NpmPackages } from './adapters/packages/npm-packages.ts'
import { PluginSources } from './adapters/plugins/plugin-sources.ts'
import { bashTool } from './adapters/tools/bash.ts'
import { editTool } from './adapters/tools/edit.ts'
import { globTool } from './adapters/tools/glob.ts'
import { grepTool } from './adapters/tools/grep.ts'
import { listTool } from './adapters/tools/list.ts'
import { readTool } from './adapters/tools/read.ts'
import { SearchThreads } from './adapters/tools/search-threads.ts'
import { skillTool } from './adapters/tools/skill.ts'
import { builtinTools, ToolBox } from './adapters/tools/tool-box.ts'
import { writeTool } from './adapters/tools/write.ts'
import { DirectoryWatchers } from './adapters/watch/directory-watchers.ts'
import type { Config } from './config.ts'
import { createRoutes } from './routes.ts'
import { joinToolSources } from './run/join-tools.ts'
import { OpenLocations } from './run/open-locations.ts'
import { ProcessPlaces } from './run/process-places.ts'
import { ToolCalls } from './run/tool-calls.ts'

/** The services of this process. */
export const services = [CatalogService] as const

/** What the catalog service needs from outside. */
export interface Dependencies {
  readonly clock: Clock
  readonly logger: Logger
  /**
   * Folder for short-lived files of calls, created if it is missing; default: the folder for temporary files
   * (`TMPDIR`).
   */
  readonly scratch?: string
  /**
   * Where plugin packages are installed, unless a setting says otherwise; default: the user's `.cache/portico/plugins`.
   */
  readonly plugins?: string
}

/** The open service. Disposal ends every tool call, and resolves when nothing of them is left. */
export interface Opened extends AsyncDisposable {
  readonly routes: Routes
}

/** Tools that are not always there, and actions with other names than their tools. */
const OTHER_ACTIONS = ['skill', 'task', 'mcp', 'external_directory', '*']

/** Opens the service. No directory is opened before it is needed. */
export async function open(config: Config, dependencies: Dependencies): Promise<Opened> {
  const { clock, logger } = dependencies
  const { directory, configDirectory, home, environment } = config
  await using opening = new AsyncDisposableStack()
  const roots = new WorkspaceRoots(config.roots)
  const shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'
  const scratch = dependencies.scratch ?? environment.TMPDIR ?? '/tmp'
  if (dependencies.scratch !== undefined) await mkdir(scratch, { recursive: true, mode: 0o700 })
  await sweepOutputPipes(scratch, clock.now())
  const start = await commandStarter(environment.PATH ?? '', scratch, logger)
  const bash = bashTool(environment, shell, start)
  const guarded = new GuardedFiles(configDirectory, home, (location) => plugins.modules(location))
  const threads = opening.use(new SearchThreads())
  const builtins = new ToolBox([readTool, listTool, globTool, grepTool(threads), writeTool, editTool, bash], guarded)
  const packages = opening.use(
    await NpmPackages.open({
      directory: config.pluginDirectory ?? dependencies.plugins ?? join(home, '.cache', 'portico', 'plugins'),
      registry: config.pluginRegistry,
      start,
      shell,
      environment,
      clock,
      logger,
    }),
  )
  const files = { watchers: new DirectoryWatchers(), logger }
  const trusted = new TrustedDirectories([configDirectory, ...config.trustedDirectories])
  const configuration = new Configuration({
    configDirectory,
    trusted,
    watchers: files.watchers,
    variable: config.variable,
  })
  const places = new ProcessPlaces(config.processesPerCore * availableParallelism(), availableParallelism())
  const mcp = opening.use(
    new McpSource({
      onChange: (directory, change) => opened.publish(directory, change),
      configuration,
      places,
      start,
      shell,
      environment,
      clock,
      logger,
    }),
  )
  const plugins = opening.use(
    new PluginSources({
      configDirectory,
      home,
      trusted,
      packages,
      start,
      environment,
      logger,
      configuration,
      places,
      watchers: files.watchers,
      limits: {
        loadMs: config.pluginLoadSeconds * 1_000,
        hookMs: config.pluginHookSeconds * 1_000,
        memoryBytes: config.pluginMemoryMib << 20,
      },
      taken: new Set([...builtins.list().map(({ name }) => name), ...OTHER_ACTIONS]),
    }),
  )
  const opened = opening.use(
    new OpenLocations({
      sources: {
        agents: plugins.agents(new FileSource(agentFiles(configDirectory), files)),
        skills: plugins.skills(new FileSource(skillFiles(configDirectory, home), files)),
        instructions: new FileSource(instructionFiles(configDirectory), files),
        plugins: plugins.plugins,
        tools: joinToolSources([builtinTools(builtins), plugins.tools, mcp]),
      },
      skillTools: (skills) => new ToolBox([skillTool(skills)], guarded),
      idleMs: config.locationIdleSeconds * 1_000,
      clock,
      logger,
    }),
  )
  const calls = opening.use(new ToolCalls())
  const locations = new FileLocations({ directory, home, roots, clock, path: environment.PATH ?? '' })
  const draining = new AbortController()
  opening.defer(() => draining.abort(serviceClosing()))
  const resources = opening.move()
  const attachments = new FileAttachments()
  return {
    routes: {
      ...createRoutes({ locations, attachments, opened, calls, mcpServers: mcp, packages }),
      draining: draining.signal,
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
