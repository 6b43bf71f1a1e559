import { create } from '@bufbuild/protobuf'
import { LocalPluginSchema, type Plugin } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { PluginOrigin } from '#services/catalog/domain/plugins/plugin.ts'
import type { PluginPackages } from '#services/catalog/ports/plugin-packages.ts'
import { findFile } from '../files/find-file.ts'
import { MAX_FILES } from './host/protocol.ts'

/** The module that a plugin is loaded from, a file or that of its package, and the files that it imported. */
export class PluginModule {
  readonly #origin: PluginOrigin
  readonly #packages: PluginPackages
  /** Path → fingerprint of the file when it was loaded. */
  readonly #files = new Map<string, string>()
  #path: string | undefined
  /** Version of the package when it was found. */
  #version: string | undefined

  constructor(origin: PluginOrigin, packages: PluginPackages) {
    this.#origin = origin
    this.#packages = packages
  }

  /** Where the plugin comes from, with what is known about its package. */
  get source(): Plugin['source'] {
    const origin = this.#origin
    if (origin.type === 'package') return { case: 'package', value: this.#packages.state(origin.target) }
    return { case: 'local', value: create(LocalPluginSchema, { path: origin.path }) }
  }

  /** The files that it was loaded from. */
  get files(): readonly string[] {
    return [...this.#files.keys()]
  }

  /** The path of the module, the same each time. Throws PackageError, or the signal's reason. */
  async find(signal: AbortSignal): Promise<string> {
    this.#path ??= await this.#find(signal)
    return this.#path
  }

  /** Adds a file that the plugin reports; files beyond the maximum are not kept. */
  addFile(path: string, fingerprint: string): void {
    if (this.#files.size < MAX_FILES || this.#files.has(path)) this.#files.set(path, fingerprint)
  }

  /**
   * Whether one of its files has changed, or a different version of its package has been installed since it was found,
   * or since it `failed` because there was none.
   */
  async isReplaced(failed: boolean): Promise<boolean> {
    const { case: kind, value } = this.source
    const present = kind === 'package' ? value.version : undefined
    if ((this.#version !== undefined || failed) && present !== this.#version) return true
    const same = [...this.#files].map(async ([path, before]) => ((await findFile(path))?.fingerprint ?? '') === before)
    return (await Promise.all(same)).includes(false)
  }

  async #find(signal: AbortSignal): Promise<string> {
    if (this.#origin.type === 'local') return this.#origin.path
    const { entry, version } = await this.#packages.load(this.#origin.target, signal)
    this.#version = version
    return entry
  }
}
