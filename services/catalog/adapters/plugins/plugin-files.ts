import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type ConfigurationDocument, untrustedProblem } from '#services/catalog/domain/configuration.ts'
import { parsePackageSpecifier } from '#services/catalog/domain/package-specifier.ts'
import type { PluginOrigin } from '#services/catalog/domain/plugins/plugin.ts'
import { isObject } from '#shared/json.ts'
import { levelsOf } from '../configuration/find-documents.ts'
import type { TrustedDirectories } from '../configuration/trusted-directories.ts'
import { entriesOf, findFile } from '../files/find-file.ts'
import type { WatchedPlaces } from '../watch/place-watch.ts'

/** A plugin that is named in a configuration, or found in a folder of plugins. */
export interface DeclaredPlugin {
  /** Unique within its location. */
  readonly key: string
  readonly origin: PluginOrigin
  /** JSON from the configuration; null: none. */
  readonly options: unknown
  /** Changes when its module or its options do. */
  readonly fingerprint: string
  /** Why it must not run; undefined: it may. */
  readonly problem: string | undefined
}

const MODULE = /\.[cm]?[jt]s$/
const LOCAL = /^(?:\.{0,2}\/|~\/|\.{1,2}$|file:)/
/** Maximum number of plugins of one location that run, and of those that are only listed, which take nobody's place. */
const MAX_PLUGINS = 64
/** How many entries of one document are checked, which happens at each read. */
const MAX_ENTRIES = 4 * MAX_PLUGINS
/** Maximum number of characters of a plugin's options. */
const MAX_OPTIONS = 64 << 10

interface Options {
  readonly configDirectory: string
  /** Home directory, for `~`. */
  readonly home: string
  readonly trusted: TrustedDirectories
}

/** The plugins that were found, and where they were looked for. */
export interface PluginFiles extends WatchedPlaces {
  readonly declared: readonly DeclaredPlugin[]
}

/**
 * Finds the plugins of a location: those that documents name (`plugins`), and then the modules in folders `plugins`; in
 * each case the user's configuration first, then the project's, from its root down to the location. A plugin that is
 * named twice counts once, with the later options; if one of the two may not run, the other counts. At most 64 run; of
 * the refused ones, as many are listed.
 */
export async function findPlugins(
  { configDirectory, home, trusted }: Options,
  location: Location,
  documents: readonly ConfigurationDocument[],
): Promise<PluginFiles> {
  const folders = [
    { path: join(configDirectory, 'plugins'), level: undefined },
    ...levelsOf(location).map((level) => ({ path: join(level, '.opencode', 'plugins'), level })),
  ]
  const named = documents.flatMap((document) => namedBy(document, home))
  const inFolders = await Promise.all(
    folders.map(async ({ path, level }) => {
      const names = (await entriesOf(path))
        .map(({ name }) => name)
        .filter((name) => MODULE.test(name) && !/\.d\.[cm]?ts$/.test(name))
      // The folder may be a link, and then both the place of the link and its target count.
      const places = level === undefined || names.length === 0 ? [] : [level, path]
      const mayRun = (await Promise.all(places.map((place) => trusted.has(place)))).every(Boolean)
      return names
        .sort()
        .map((name) => ({ local: join(path, name), options: null, trusted: mayRun, by: join(path, name) }))
    }),
  )
  const all = new Map<string, Named>()
  const candidates: readonly Named[] = [...named, ...inFolders.flat()]
  for (const one of candidates) {
    const key = one.local ?? one.target ?? ''
    const before = all.get(key)
    // An untrusted document cannot change trusted plugins, and one that gives no options keeps the earlier ones.
    const counts = before === undefined || (before.trusted === one.trusted ? one.options !== null : one.trusted)
    if (counts) all.set(key, one)
  }
  const run = new Set([...all.values()].filter((one) => one.trusted).slice(0, MAX_PLUGINS))
  const others = [...all.values()].filter((one) => !run.has(one)).slice(0, MAX_PLUGINS)
  const listed = new Set([...run, ...others])
  const declared = await Promise.all(
    [...all].filter(([, one]) => listed.has(one)).map(([key, one]) => describe(key, one, run.has(one))),
  )
  const locals = [...listed].flatMap(({ local }) => local ?? [])
  const places = folders.map(({ path }) => path)
  return { declared, places: [...places, ...locals], folders: places }
}

interface Named {
  /** Absolute path of a module. */
  readonly local?: string
  /** Specifier of a package. */
  readonly target?: string
  readonly options: unknown
  readonly trusted: boolean
  /** The file that names it. */
  readonly by: string
}

function namedBy({ path, value, trusted }: ConfigurationDocument, home: string): Named[] {
  const entries = Array.isArray(value.plugins) ? value.plugins.slice(0, MAX_ENTRIES) : []
  return entries.flatMap((entry: unknown): Named[] => {
    const name = isObject(entry) ? entry.package : entry
    if (typeof name !== 'string' || name === '') return []
    const entryOptions = { options: isObject(entry) ? (entry.options ?? null) : null, trusted, by: path }
    return [
      LOCAL.test(name)
        ? { local: localPath(name, dirname(path), home), ...entryOptions }
        : { target: name, ...entryOptions },
    ]
  })
}

function localPath(name: string, base: string, home: string): string {
  if (name.startsWith('~/')) return join(home, name.slice(2))
  if (!name.startsWith('file:')) return resolve(base, name)
  try {
    return fileURLToPath(name)
  } catch {
    return resolve(base, name)
  }
}

async function describe(key: string, named: Named, hasPlace: boolean): Promise<DeclaredPlugin> {
  const { local, target, options } = named
  const text = JSON.stringify(options)
  const problem = problemOf(named, hasPlace, text.length)
  if (local === undefined) {
    const wrong = problem ?? packageProblem(target ?? '')
    return {
      key,
      options,
      problem: wrong,
      origin: { type: 'package', target: target ?? '' },
      fingerprint: `${text}\0${wrong}`,
    }
  }
  const file = await findFile(local)
  const missing = !MODULE.test(local)
    ? `${basename(local)} is not a module: its name must end in .js, .mjs, .cjs, .ts, .mts or .cts`
    : file === undefined
      ? `There is no file ${local}`
      : undefined
  return {
    key,
    options,
    problem: problem ?? missing,
    origin: { type: 'local', path: local },
    fingerprint: `${text}\0${problem ?? missing}\0${file?.fingerprint}`,
  }
}

function problemOf({ trusted, by }: Named, hasPlace: boolean, length: number): string | undefined {
  if (!trusted) return untrustedProblem(by)
  if (!hasPlace) return `A location has at most ${MAX_PLUGINS} plugins`
  return length > MAX_OPTIONS ? `Its options have more than ${MAX_OPTIONS} characters` : undefined
}

function packageProblem(target: string): string | undefined {
  try {
    parsePackageSpecifier(target)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
