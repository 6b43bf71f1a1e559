import { hash, randomUUID } from 'node:crypto'
import { access, lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PackageSpecifier } from '#services/catalog/domain/package-specifier.ts'
import type { InstalledPackage } from '#services/catalog/ports/plugin-packages.ts'
import { isObject } from '#shared/json.ts'
import { codeOf } from '../files/paths.ts'
import { ownerOf, processMark } from '../files/process-mark.ts'
import { ENTRY } from './install.ts'

interface Current {
  /** Name of the folder that contains it. */
  readonly folder: string
  readonly version: string
}

const CURRENT = 'current.json'
const TEMPORARY = '.tmp'
/** What a process of another container has not finished by then is abandoned. */
const REMNANT_MS = 3_600_000

/**
 * Where packages are installed: a folder for each specifier, with a folder for each installation, and a file that names
 * the current one. The file is replaced in one step once an installation is complete, so one that was killed is merely
 * a remnant. Several processes may use the same folder.
 */
export class PackageFolders {
  readonly #root: string

  /** An absolute path, created when something is installed. */
  constructor(root: string) {
    this.#root = root
  }

  /** The current installation; undefined: there is none, or somebody has removed parts of it. */
  async current(specifier: PackageSpecifier): Promise<InstalledPackage | undefined> {
    const place = this.#placeOf(specifier)
    const current = await readCurrent(place)
    if (current === undefined) return undefined
    const installation = toInstallation(place, specifier, current)
    return (await exists(installation.entry)) ? installation : undefined
  }

  /** An empty folder for an installation, which becomes current once it is adopted. */
  async make(specifier: PackageSpecifier): Promise<string> {
    const path = join(this.#placeOf(specifier), `${await processMark()}-${randomUUID()}`)
    await mkdir(path, { recursive: true, mode: 0o700 })
    return path
  }

  /**
   * Makes the installation in a folder the current one. The previous one is kept until the next, since a plugin may
   * still run from it.
   */
  async adopt(specifier: PackageSpecifier, path: string, version: string): Promise<InstalledPackage> {
    const place = this.#placeOf(specifier)
    const before = await readCurrent(place)
    const current: Current = { folder: path.slice(place.length + 1), version }
    const temporary = `${path}${TEMPORARY}`
    await using file = await open(temporary, 'wx', 0o600)
    await file.writeFile(JSON.stringify(current))
    await file.sync()
    await rename(temporary, join(place, CURRENT))
    await sweepPlace(place, new Set([current.folder, before?.folder]), Date.now())
    return toInstallation(place, specifier, current)
  }

  /**
   * Removes what killed processes left, and installations that others have replaced; `now` is in milliseconds since the
   * epoch.
   */
  async sweep(now: number): Promise<void> {
    for (const name of await namesIn(this.#root)) {
      const place = join(this.#root, name)
      await sweepPlace(place, new Set([(await readCurrent(place))?.folder]), now)
    }
  }

  #placeOf({ target, name }: PackageSpecifier): string {
    return join(this.#root, `${name.replace('/', '+')}-${hash('sha256', target).slice(0, 16)}`)
  }
}

function toInstallation(place: string, { name }: PackageSpecifier, { folder, version }: Current): InstalledPackage {
  return { name, version, entry: join(place, folder, ENTRY) }
}

async function readCurrent(place: string): Promise<Current | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(join(place, CURRENT), 'utf8'))
    if (!isObject(value)) return undefined
    const { folder, version } = value
    return typeof folder === 'string' && typeof version === 'string' ? { folder, version } : undefined
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR' || error instanceof SyntaxError) return undefined
    throw error
  }
}

async function sweepPlace(place: string, keep: ReadonlySet<string | undefined>, now: number): Promise<void> {
  const own = await processMark()
  for (const name of await namesIn(place)) {
    if (name === CURRENT || keep.has(name)) continue
    const path = join(place, name)
    const [, mark = ''] = /^(\d+-\d+)-/.exec(name) ?? []
    const { mtimeMs } = await lstat(path).catch(() => ({ mtimeMs: now }))
    // None of this process is unfinished, since each specifier has one installation at a time.
    const gone = mark === own || (await ownerOf(mark)) === 'gone'
    if (gone || now - mtimeMs > REMNANT_MS) await rm(path, { recursive: true, force: true }).catch(() => {})
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => [])
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}
