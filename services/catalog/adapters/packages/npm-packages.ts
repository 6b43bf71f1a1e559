import { rm } from 'node:fs/promises'
import { PackageError, type PackageSpecifier } from '#services/catalog/domain/package-specifier.ts'
import type { InstalledPackage, PackageState, PluginPackages } from '#services/catalog/ports/plugin-packages.ts'
import type { Clock } from '#shared/clock.ts'
import { orAborted } from '#shared/or-aborted.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { KnownPackage } from './known-package.ts'
import { PACKAGE_LIMITS, type PackageLimits } from './limits.ts'
import { type Installation, PackageFolders } from './package-folders.ts'
import type { Question, Resolution } from './package-job.ts'
import { PackageThreads } from './package-threads.ts'
import { problemOf } from './problem-of.ts'

interface Options {
  /** Where packages are installed: an absolute path, created with the first package. */
  readonly directory: string
  /** Address of the registry, the only one that is used. */
  readonly registry: string
  readonly clock: Clock
  readonly logger: Logger
  readonly limits?: Partial<PackageLimits>
}

const FAILURE_MS = 30_000

/** Packages of one registry, installed by threads of their own with npm's libraries. */
export class NpmPackages implements PluginPackages {
  readonly #options: Options
  readonly #limits: PackageLimits
  readonly #folders: PackageFolders
  readonly #threads = new PackageThreads()
  readonly #known = new Map<string, KnownPackage>()

  private constructor(options: Options) {
    this.#options = options
    this.#limits = { ...PACKAGE_LIMITS, ...options.limits }
    this.#folders = new PackageFolders(options.directory)
  }

  /** Removes what killed processes left. */
  static async open(options: Options): Promise<NpmPackages> {
    const packages = new NpmPackages(options)
    await packages.#folders.sweep(options.clock.now())
    return packages
  }

  async load(target: string, signal: AbortSignal): Promise<InstalledPackage> {
    const known = this.#of(target)
    const present = await this.#folders.current(known.specifier)
    signal.throwIfAborted()
    if (present !== undefined) return note(known, present)
    const { failure } = known
    if (failure !== undefined && this.#options.clock.monotonic() - failure.at < FAILURE_MS) throw failure.error
    return await orAborted(this.#install(known), signal)
  }

  state(target: string): PackageState {
    return this.#known.get(target)?.state ?? { version: undefined, outdated: false, updating: false }
  }

  async check(targets: readonly string[], signal: AbortSignal): Promise<void> {
    const all = [...new Set(targets)].map((target) => this.#of(target))
    const present = await Promise.all(all.map(({ specifier }) => this.#folders.current(specifier)))
    const installed = all.flatMap((known, i) => (present[i] === undefined ? [] : [{ known, present: present[i] }]))
    const queries = installed.map(({ known, present }) => ({ specifier: known.specifier, installed: present.version }))
    const answers = await this.#answers(queries, signal)
    for (const [i, { known, present }] of installed.entries()) {
      const answer = answers[i] ?? { problem: 'no answer' }
      if ('problem' in answer) {
        const { target } = known.specifier
        this.#options.logger.warn(
          { target, ...answer },
          'It could not be determined whether a plugin has a newer version',
        )
        continue
      }
      // The result does not apply to what was updated meanwhile.
      if (known.updating !== undefined || (known.version ?? present.version) !== present.version) continue
      known.version = present.version
      known.outdated = answer.newer
      known.notify()
    }
  }

  async update(target: string, signal: AbortSignal): Promise<InstalledPackage> {
    const known = this.#of(target)
    known.updating ??= this.#beginUpdate(known)
    return await orAborted(known.updating, signal)
  }

  watch(target: string, changed: () => void): Disposable {
    return this.#of(target).watch(changed)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#threads[Symbol.asyncDispose]()
    await Promise.allSettled([...this.#known.values()].flatMap(({ installing, updating }) => [installing, updating]))
  }

  #beginUpdate(known: KnownPackage): Promise<Installation> {
    const updating = this.#update(known).finally(() => {
      known.updating = undefined
      known.notify()
    })
    // It continues when nobody waits for it any more.
    updating.catch(() => {})
    queueMicrotask(() => known.notify())
    return updating
  }

  async #update(known: KnownPackage): Promise<Installation> {
    const present = await this.#folders.current(known.specifier)
    if (present === undefined) return await this.#install(known)
    const [answer] = await this.#resolve([{ specifier: known.specifier, installed: present.version }])
    if (answer === undefined || 'problem' in answer) throw new PackageError(answer?.problem ?? 'no answer')
    if (answer.version !== present.version || answer.integrity !== present.integrity) return await this.#install(known)
    known.outdated = false
    return note(known, present)
  }

  /** Installs a specifier, one installation at a time. */
  #install(known: KnownPackage): Promise<Installation> {
    if (known.installing !== undefined) return known.installing
    const installing = this.#installAnew(known).finally(() => {
      known.installing = undefined
      known.notify()
    })
    installing.catch(() => {})
    known.installing = installing
    return installing
  }

  async #installAnew(known: KnownPackage): Promise<Installation> {
    try {
      const installation = await this.#installed(known.specifier)
      known.outdated = false
      known.failure = undefined
      return note(known, installation)
    } catch (error) {
      const problem = error instanceof PackageError ? error : new PackageError(problemOf(error))
      known.failure = { error: problem, at: this.#options.clock.monotonic() }
      throw problem
    }
  }

  async #installed(specifier: PackageSpecifier): Promise<Installation> {
    const folder = await this.#folders.make(specifier)
    try {
      const job = {
        type: 'install',
        specifier,
        folder,
        registry: this.#options.registry,
        limits: this.#limits,
      } as const
      const answer = await this.#threads.work(job, this.#limits.installMs)
      if (answer.type !== 'installed') throw new PackageError('nothing was installed')
      return await this.#folders.adopt(specifier, folder, answer.resolved)
    } catch (error) {
      await rm(folder, { recursive: true, force: true }).catch(() => {})
      throw error
    }
  }

  /** Responses of the registry; problems if they do not come in time, or it cannot be reached. */
  async #answers(questions: readonly Question[], signal: AbortSignal): Promise<readonly Resolution[]> {
    if (questions.length === 0) return []
    try {
      return await this.#resolve(questions, AbortSignal.any([signal, AbortSignal.timeout(this.#limits.checkMs)]))
    } catch (error) {
      signal.throwIfAborted()
      return questions.map(() => ({ problem: problemOf(error) }))
    }
  }

  async #resolve(questions: readonly Question[], signal?: AbortSignal): Promise<readonly Resolution[]> {
    const job = { type: 'resolve', questions, registry: this.#options.registry, limits: this.#limits } as const
    const answer = await this.#threads.work(job, this.#limits.installMs, signal)
    return answer.type === 'resolved' ? answer.resolutions : []
  }

  #of(target: string): KnownPackage {
    const known = this.#known.get(target) ?? new KnownPackage(target)
    this.#known.set(target, known)
    return known
  }
}

function note(known: KnownPackage, installation: Installation): Installation {
  known.version = installation.version
  return installation
}
