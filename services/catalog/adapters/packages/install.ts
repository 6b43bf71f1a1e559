import { chmod, lstat, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { PackageError, type PackageSpecifier } from '#services/catalog/domain/package-specifier.ts'
import { isObject } from '#shared/json.ts'
import { codeOf } from '../files/paths.ts'
import { CACHE, type Npm } from './npm.ts'

/** Limits of one installation, including all dependencies. */
export interface PackageLimits {
  /** Bytes of one tarball. */
  readonly tarballBytes: number
  /** Bytes of all files together, and of all tarballs. */
  readonly unpackedBytes: number
  readonly files: number
  readonly packages: number
  /** `node_modules` in `node_modules`. */
  readonly depth: number
  /** Milliseconds from beginning to end. */
  readonly installMs: number
  /** Milliseconds for one check of the registry. */
  readonly checkMs: number
}

/** Enough for what people publish, but not for what would fill a disk. */
export const PACKAGE_LIMITS: PackageLimits = Object.freeze({
  tarballBytes: 128 << 20,
  unpackedBytes: 512 << 20,
  files: 50_000,
  packages: 1_000,
  depth: 32,
  installMs: 120_000,
  checkMs: 20_000,
})

/**
 * Name of the module that represents an installed package: through it, Node finds the package's own, whatever its
 * `exports` or `main` are.
 */
export const ENTRY = 'entry.mjs'

const MODULES = 'node_modules'
/** Sizes are looked at while npm works: at least this often, unless that takes over a tenth of the time. */
const LOOK_MS = 250

/** Installs a package and its dependencies in an empty folder; returns its version. Throws PackageError. */
export async function install(
  npm: Npm,
  { name, wanted }: PackageSpecifier,
  folder: string,
  limits: PackageLimits,
  signal: AbortSignal,
): Promise<string> {
  await writeDependencies(folder, { [name]: wanted })
  const working = new AbortController()
  const watch = watchSize(folder, limits, working)
  try {
    await npm.run(['install'], folder, limits.installMs, AbortSignal.any([signal, working.signal]))
  } finally {
    working.abort()
    await watch
  }
  const version = await checkPlan(name, folder, limits)
  await checkSize(folder, limits)
  await normalizeModes(join(folder, MODULES))
  await rm(join(folder, CACHE), { recursive: true, force: true })
  await writeFile(join(folder, ENTRY), `export { default } from ${JSON.stringify(name)}\n`)
  return version
}

/** Looks up what each specifier stands for in the registry; undefined: the registry does not have it. */
export async function lookUp(
  npm: Npm,
  specifiers: readonly PackageSpecifier[],
  folder: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<(string | undefined)[]> {
  const aliases = specifiers.map(({ name, wanted }, i) => [`p${i}`, `npm:${name}@${wanted}`] as const)
  await writeDependencies(folder, Object.fromEntries(aliases))
  const answer = await npm.run(['outdated'], folder, limitMs, signal)
  const entries = Object.entries(answer)
  return aliases.map(([alias]) => {
    const [, entry] = entries.find(([key]) => key.split(':')[0] === alias) ?? []
    return isObject(entry) && typeof entry.wanted === 'string' ? entry.wanted : undefined
  })
}

async function writeDependencies(folder: string, dependencies: Readonly<Record<string, string>>): Promise<void> {
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }))
}

interface Placed {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  /** It came in the tarball of another package. */
  readonly inBundle?: boolean
}

/** Checks what npm says that it has installed; returns the version of the package itself. */
async function checkPlan(name: string, folder: string, limits: PackageLimits): Promise<string> {
  const text = await readFile(join(folder, MODULES, '.package-lock.json'), 'utf8')
  const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, Placed>> }
  const all = Object.entries(packages)
  if (all.length > limits.packages) throw new PackageError(`it needs more than ${limits.packages} packages`)
  for (const [location, { version, resolved = '', integrity, inBundle }] of all) {
    const [, ...path] = location.split(`${MODULES}/`)
    const id = `${path.at(-1)}@${version}`
    if (!inBundle && (!integrity || !/^https?:/.test(resolved))) {
      throw new PackageError(`the registry has no integrity for ${id}`)
    }
    if (path.length > limits.depth) throw new PackageError(`${id} is nested more than ${limits.depth} packages deep`)
  }
  const version = packages[`${MODULES}/${name}`]?.version
  if (version === undefined) throw new PackageError(`${name} is not for this platform`)
  return version
}

/** Ends an installation that becomes too large. */
async function watchSize(folder: string, limits: PackageLimits, working: AbortController): Promise<void> {
  while (!working.signal.aborted) {
    const begin = performance.now()
    await checkSize(folder, limits).catch((error: unknown) => {
      // Files may disappear meanwhile.
      if (error instanceof PackageError) working.abort(error)
    })
    const pause = Math.max(LOOK_MS, 9 * (performance.now() - begin))
    await delay(pause, undefined, { signal: working.signal }).catch(() => {})
  }
}

async function checkSize(folder: string, limits: PackageLimits): Promise<void> {
  const tarballs = await measure(join(folder, CACHE))
  const unpacked = await measure(join(folder, MODULES))
  if (tarballs.largest > limits.tarballBytes) throw new PackageError('a tarball is too large')
  for (const { bytes } of [tarballs, unpacked]) {
    if (bytes > limits.unpackedBytes) throw new PackageError(`it has more than ${limits.unpackedBytes} bytes`)
  }
  if (unpacked.files > limits.files) throw new PackageError(`it has more than ${limits.files} files`)
}

async function measure(folder: string): Promise<{ files: number; bytes: number; largest: number }> {
  const total = { files: 0, bytes: 0, largest: 0 }
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  })
  for (const entry of entries) {
    if (entry.isDirectory()) continue
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile()) throw new PackageError(`${JSON.stringify(path)} is not a file`)
    const { size } = await lstat(path)
    total.files++
    total.bytes += size
    total.largest = Math.max(total.largest, size)
  }
  return total
}

/** Whoever runs a file can read it, nobody else can change it, and no set-user-ID bits are kept. */
async function normalizeModes(folder: string): Promise<void> {
  for (const { parentPath, name } of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(parentPath, name)
    const { mode } = await lstat(path)
    await chmod(path, (mode & 0o111) === 0 ? 0o644 : 0o755)
  }
}
