import { rm } from 'node:fs/promises'
import { create } from '@bufbuild/protobuf'
import { gt } from 'semver'
import { type PackagePlugin, PackagePluginSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  PackageError,
  type PackageSpecifier,
  parsePackageSpecifier,
} from '#services/catalog/domain/package-specifier.ts'
import type { InstalledPackage, PluginPackages } from '#services/catalog/ports/plugin-packages.ts'
import type { Clock } from '#shared/clock.ts'
import { orAborted } from '#shared/or-aborted.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { install, lookUp, PACKAGE_LIMITS, type PackageLimits } from './install.ts'
import { Npm, type NpmOptions } from './npm.ts'
import { PackageFolders } from './package-folders.ts'

interface Options extends NpmOptions {
  /** Where packages are installed: an absolute path, created with the first package. */
  readonly directory: string
  readonly clock: Clock
  readonly logger: Logger
  readonly limits?: Partial<PackageLimits>
}

const FAILURE_MS = 30_000
/** Stands for the folders in which npm runs to look something up. */
const LOOK_UPS: PackageSpecifier = { target: '', name: 'look-ups', wanted: '' }

/** What this process knows about the package of a specifier. */
interface Package {
  readonly specifier: PackageSpecifier
  version: string | undefined
  outdated: boolean
  installing: Promise<InstalledPackage> | undefined
  updating: Promise<InstalledPackage> | undefined
  /** Why the last installation failed, and when, on the monotonic clock. */
  failure: { readonly error: PackageError; readonly at: number } | undefined
  readonly listeners: Set<() => void>
}

/** Packages of one registry, installed by npm. */
export class NpmPackages implements PluginPackages {
  readonly #options: Options
  readonly #limits: PackageLimits
  readonly #folders: PackageFolders
  readonly #npm: Npm
  readonly #packages = new Map<string, Package>()
  readonly #closing = new AbortController()

  private constructor(options: Options) {
    this.#options = options
    this.#limits = { ...PACKAGE_LIMITS, ...options.limits }
    this.#folders = new PackageFolders(options.directory)
    this.#npm = new Npm(options)
  }

  /** Removes what killed processes left. */
  static async open(options: Options): Promise<NpmPackages> {
    const packages = new NpmPackages(options)
    await packages.#folders.sweep(options.clock.now())
    return packages
  }

  async load(target: string, signal: AbortSignal): Promise<InstalledPackage> {
    const one = this.#of(target)
    const present = await this.#folders.current(one.specifier)
    signal.throwIfAborted()
    if (present !== undefined) {
      one.version = present.version
      return present
    }
    const { failure } = one
    if (failure !== undefined && this.#options.clock.monotonic() - failure.at < FAILURE_MS) throw failure.error
    return await orAborted(this.#install(one), signal)
  }

  state(target: string): PackagePlugin {
    const { version, outdated = false, updating } = this.#packages.get(target) ?? {}
    return create(PackagePluginSchema, { target, version, outdated, updating: updating !== undefined })
  }

  async check(targets: readonly string[], signal: AbortSignal): Promise<void> {
    const all = [...new Set(targets)].map((target) => this.#of(target))
    const present = await Promise.all(all.map(({ specifier }) => this.#folders.current(specifier)))
    const installed = all.flatMap((one, i) => (present[i] === undefined ? [] : [{ one, version: present[i].version }]))
    if (installed.length === 0) return
    const specifiers = installed.map(({ one }) => one.specifier)
    const newest = await this.#lookUp(specifiers, this.#limits.checkMs, signal).catch((error: unknown) => {
      signal.throwIfAborted()
      return error instanceof Error ? error : new PackageError(String(error))
    })
    for (const [i, { one, version }] of installed.entries()) {
      const newestVersion = newest instanceof Error ? undefined : newest[i]
      if (newestVersion === undefined) {
        const problem = newest instanceof Error ? newest.message : 'the registry does not have it'
        const { target } = one.specifier
        this.#options.logger.warn(
          { target, problem },
          'It could not be determined whether a plugin has a newer version',
        )
        continue
      }
      // The result does not apply to what was updated meanwhile.
      if (one.updating !== undefined || (one.version ?? version) !== version) continue
      one.version = version
      one.outdated = gt(newestVersion, version)
      notify(one)
    }
  }

  async update(target: string, signal: AbortSignal): Promise<InstalledPackage> {
    const one = this.#of(target)
    if (one.updating === undefined) {
      one.updating = this.#update(one).finally(() => {
        one.updating = undefined
        notify(one)
      })
      // It continues when nobody waits for it any more.
      one.updating.catch(() => {})
      queueMicrotask(() => notify(one))
    }
    return await orAborted(one.updating, signal)
  }

  watch(target: string, changed: () => void): Disposable {
    const { listeners } = this.#of(target)
    // Wrapped, since one listener may watch twice.
    const own = (): void => changed()
    listeners.add(own)
    return { [Symbol.dispose]: () => void listeners.delete(own) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new PackageError('the server is stopping'))
    await Promise.allSettled([...this.#packages.values()].flatMap(({ installing, updating }) => [installing, updating]))
  }

  async #update(one: Package): Promise<InstalledPackage> {
    const present = await this.#folders.current(one.specifier)
    if (present === undefined) return await this.#install(one)
    const [newest] = await this.#lookUp([one.specifier], this.#limits.installMs, this.#closing.signal)
    if (newest === undefined) throw new PackageError('the registry does not have it')
    if (newest !== present.version) return await this.#install(one)
    one.outdated = false
    one.version = present.version
    return present
  }

  /** Installs a specifier, one installation at a time. */
  #install(one: Package): Promise<InstalledPackage> {
    if (one.installing !== undefined) return one.installing
    one.installing = this.#installAnew(one).finally(() => {
      one.installing = undefined
      notify(one)
    })
    one.installing.catch(() => {})
    return one.installing
  }

  async #installAnew(one: Package): Promise<InstalledPackage> {
    try {
      const installed = await this.#installInFolder(one.specifier)
      one.outdated = false
      one.failure = undefined
      one.version = installed.version
      return installed
    } catch (error) {
      const problem = error instanceof PackageError ? error : new PackageError(`${error}`)
      one.failure = { error: problem, at: this.#options.clock.monotonic() }
      throw problem
    }
  }

  async #installInFolder(specifier: PackageSpecifier): Promise<InstalledPackage> {
    const folder = await this.#folders.make(specifier)
    try {
      const version = await install(this.#npm, specifier, folder, this.#limits, this.#closing.signal)
      return await this.#folders.adopt(specifier, folder, version)
    } catch (error) {
      await rm(folder, { recursive: true, force: true }).catch(() => {})
      throw error
    }
  }

  /** The versions that specifiers stand for in the registry now. */
  async #lookUp(specifiers: readonly PackageSpecifier[], limitMs: number, signal: AbortSignal) {
    const folder = await this.#folders.make(LOOK_UPS)
    try {
      return await lookUp(this.#npm, specifiers, folder, limitMs, AbortSignal.any([signal, this.#closing.signal]))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  #of(target: string): Package {
    const before = this.#packages.get(target)
    if (before !== undefined) return before
    const specifier = parsePackageSpecifier(target)
    const nothing = { version: undefined, outdated: false, installing: undefined, updating: undefined }
    const one: Package = { specifier, ...nothing, failure: undefined, listeners: new Set() }
    this.#packages.set(target, one)
    return one
  }
}

function notify({ listeners }: Package): void {
  for (const listener of [...listeners]) listener()
}
