import {
  type PackageError,
  type PackageSpecifier,
  parsePackageSpecifier,
} from '#services/catalog/domain/package-specifier.ts'
import type { PackageState } from '#services/catalog/ports/plugin-packages.ts'
import type { Installation } from './package-folders.ts'

/** What this process knows about the package of a specifier. */
export class KnownPackage {
  readonly specifier: PackageSpecifier
  version: string | undefined
  outdated = false
  /** The installation in progress. */
  installing: Promise<Installation> | undefined
  updating: Promise<Installation> | undefined
  /** Why the last installation failed, and when, on the monotonic clock. */
  failure: { readonly error: PackageError; readonly at: number } | undefined
  readonly #listeners = new Set<() => void>()

  /** Throws PackageError if the target is not a specifier. */
  constructor(target: string) {
    this.specifier = parsePackageSpecifier(target)
  }

  get state(): PackageState {
    return { version: this.version, outdated: this.outdated, updating: this.updating !== undefined }
  }

  watch(changed: () => void): Disposable {
    // Wrapped, since one listener may watch twice.
    const own = (): void => changed()
    this.#listeners.add(own)
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) }
  }

  notify(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}
