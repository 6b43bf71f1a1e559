import type { PluginOrigin } from '#services/catalog/domain/plugins/plugin.ts'
import type { PackageState, PluginPackages } from '#services/catalog/ports/plugin-packages.ts'

const NO_PACKAGE: PackageState = { version: undefined, outdated: false, updating: false }

/** The module that a plugin is loaded from: a file, or that of its package. */
export class PluginEntry {
  readonly #origin: PluginOrigin
  readonly #packages: PluginPackages
  #path: string | undefined
  /** Version of the package when it was found. */
  #version: string | undefined

  constructor(origin: PluginOrigin, packages: PluginPackages) {
    this.#origin = origin
    this.#packages = packages
  }

  /** What is known about its package. */
  get state(): PackageState {
    return this.#origin.type === 'package' ? this.#packages.state(this.#origin.target) : NO_PACKAGE
  }

  /** The path of the module, the same each time. Throws PackageError, or the signal's reason. */
  async find(signal: AbortSignal): Promise<string> {
    this.#path ??= await this.#find(signal)
    return this.#path
  }

  /**
   * Whether a different version of its package has been installed since it was found, or since it `failed` because
   * there was none.
   */
  isReplaced(failed: boolean): boolean {
    return (this.#version !== undefined || failed) && this.state.version !== this.#version
  }

  async #find(signal: AbortSignal): Promise<string> {
    if (this.#origin.type === 'local') return this.#origin.path
    const { entry, version } = await this.#packages.load(this.#origin.target, signal)
    this.#version = version
    return entry
  }
}
