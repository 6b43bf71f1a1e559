import { homedir } from 'node:os'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { z } from 'zod'
import { readEnvironment } from '#shared/config/config.ts'
import { type Environment, integerVariable, jsonVariable, mustBe, urlVariable } from '#shared/config/variables.ts'

export interface Config {
  /**
   * Default project directory, absolute (`PORTICO_DIRECTORY`); undefined: there is none, and requests must name theirs.
   */
  readonly directory: string | undefined
  /** Global configuration directory, absolute (`PORTICO_CONFIG_DIR`; default `~/.config/opencode`). */
  readonly configDirectory: string
  /** Home directory, for `~` in permission rules. */
  readonly home: string
  /** Workspace id → directories below which its principals may have their projects (`PORTICO_PROJECT_ROOTS`, JSON). */
  readonly roots: Readonly<Record<string, readonly string[]>>
  /**
   * Absolute paths; the files of projects below them may name commands, addresses and modules to run
   * (`PORTICO_TRUSTED_DIRECTORIES`, JSON).
   */
  readonly trustedDirectories: readonly string[]
  /** How many plugin hosts and MCP processes may be alive, per CPU core (`PORTICO_PROCESSES_PER_CORE`). */
  readonly processesPerCore: number
  /** After how long an unused location is closed (`PORTICO_LOCATION_IDLE_SECONDS`). */
  readonly locationIdleSeconds: number
  /** Where plugin packages are installed (`PORTICO_PLUGIN_DIR`); undefined: the process decides. */
  readonly pluginDirectory: string | undefined
  /**
   * Address of the registry that plugin packages come from (`PORTICO_PLUGIN_REGISTRY`; default: the one that npm uses,
   * which it passes to its scripts).
   */
  readonly pluginRegistry: string
  /** Time limit for a plugin to load (`PORTICO_PLUGIN_LOAD_SECONDS`). */
  readonly pluginLoadSeconds: number
  /** Time limit for a hook of a plugin (`PORTICO_PLUGIN_HOOK_SECONDS`). */
  readonly pluginHookSeconds: number
  /** Memory limit of a plugin, in MiB (`PORTICO_PLUGIN_MEMORY_MIB`). */
  readonly pluginMemoryMib: number
  /**
   * Returns an environment variable, for configuration documents that refer to it. It is a function because settings
   * are logged.
   */
  readonly variable: (name: string) => string | undefined
  /** The whole environment of commands. */
  readonly environment: Readonly<Record<string, string>>
}

// A command gets nothing else: no provider key, no setting of Portico, nothing that makes a shell read a file.
const PASSED_ON = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|TZ|TMPDIR|TMP|TEMP)$/
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

const NPM_REGISTRY = 'https://registry.npmjs.org'

const absolutePath = z.string().refine(isAbsolute, mustBe('an absolute path'))

// The UUID by which `/api/v1` shows a workspace would give its keys no directory, without a word.
const roots = z.record(z.string().regex(/^wrk_[0-9A-Za-z]+$/), z.array(absolutePath), {
  error: ({ code }) =>
    code === 'invalid_key' ? 'must be a workspace id of the form wrk_…, which npm run key -- list shows' : undefined,
})

const variables = z.object({
  HOME: z.string().optional(),
  PORTICO_DIRECTORY: z.string().optional(),
  PORTICO_CONFIG_DIR: z.string().optional(),
  PORTICO_PROJECT_ROOTS: jsonVariable(roots).default({}),
  PORTICO_TRUSTED_DIRECTORIES: jsonVariable(z.array(absolutePath)).default([]),
  PORTICO_PROCESSES_PER_CORE: integerVariable({ min: 1, max: 1_000 }).default(16),
  PORTICO_LOCATION_IDLE_SECONDS: integerVariable({ min: 1, max: 86_400 }).default(300),
  PORTICO_PLUGIN_DIR: z.string().optional(),
  PORTICO_PLUGIN_REGISTRY: urlVariable().refine(hasNoCredentials, 'must have no credentials').optional(),
  PORTICO_PLUGIN_LOAD_SECONDS: integerVariable({ min: 1, max: 600 }).default(10),
  PORTICO_PLUGIN_HOOK_SECONDS: integerVariable({ min: 1, max: 60 }).default(5),
  PORTICO_PLUGIN_MEMORY_MIB: integerVariable({ min: 16, max: 65_536 }).default(256),
  npm_config_registry: z.string().optional(),
})

/** Reads the settings of the catalog service. Throws ConfigError with every problem. */
export function readConfig(env: Environment): Config {
  const values = readEnvironment(variables, env)
  const home = values.HOME ?? homedir()
  const passedOn = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && PASSED_ON.test(name) ? [[name, value] as const] : [],
  )
  return Object.freeze({
    directory: values.PORTICO_DIRECTORY && resolve(values.PORTICO_DIRECTORY),
    configDirectory: resolve(values.PORTICO_CONFIG_DIR ?? join(home, '.config', 'opencode')),
    home,
    roots: values.PORTICO_PROJECT_ROOTS,
    trustedDirectories: values.PORTICO_TRUSTED_DIRECTORIES,
    processesPerCore: values.PORTICO_PROCESSES_PER_CORE,
    locationIdleSeconds: values.PORTICO_LOCATION_IDLE_SECONDS,
    pluginDirectory: values.PORTICO_PLUGIN_DIR && resolve(values.PORTICO_PLUGIN_DIR),
    pluginRegistry: values.PORTICO_PLUGIN_REGISTRY ?? npmsRegistry(values.npm_config_registry),
    pluginLoadSeconds: values.PORTICO_PLUGIN_LOAD_SECONDS,
    pluginHookSeconds: values.PORTICO_PLUGIN_HOOK_SECONDS,
    pluginMemoryMib: values.PORTICO_PLUGIN_MEMORY_MIB,
    variable: (name: string) => env[name],
    environment: Object.freeze({ ...Object.fromEntries(passedOn), PATH: usersPath(env.PATH) ?? DEFAULT_PATH }),
  })
}

/** npm's registry, unless Portico cannot use it. */
function npmsRegistry(address: string | undefined): string {
  const { data } = urlVariable().refine(hasNoCredentials).safeParse(address)
  return data ?? NPM_REGISTRY
}

function hasNoCredentials(address: string): boolean {
  const { username, password } = new URL(address)
  return username === '' && password === ''
}

/**
 * PATH without the folders that npm puts in front of it for scripts, so that a project's commands do not find Portico's
 * Node.
 */
function usersPath(path: string | undefined): string | undefined {
  const folders = path?.split(delimiter) ?? []
  const last = folders.findLastIndex((folder) => folder.endsWith('node-gyp-bin'))
  const users = folders.filter((folder, i) => i > last || !/node_modules[\\/]\.bin$|node-gyp-bin$/.test(folder))
  return users.join(delimiter) || undefined
}
