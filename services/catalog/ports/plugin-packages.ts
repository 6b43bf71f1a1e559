import type { PackagePlugin } from '#gen/portico/catalog/v1/catalog_pb.js'

/** An installed package of npm's registry, with its dependencies. */
export interface InstalledPackage {
  readonly name: string
  readonly version: string
  /** Absolute path of a module whose default export is the package's own. It is different for each installation. */
  readonly entry: string
}

/**
 * Packages of npm's registry that plugins come from, by the specifiers in configurations (`name`, `name@range`,
 * `name@tag`). Each has its own installation, with its own dependencies, which is replaced as a whole: whatever
 * happens, either the old one or the new one exists. Nothing of a package runs during its installation. Disposal ends
 * installations in progress.
 */
export interface PluginPackages extends AsyncDisposable {
  /**
   * Returns the installation of a specifier, installing the package first if necessary. An existing installation needs
   * no network. Concurrent callers share one installation, which continues if the signal of one of them aborts. A
   * failed one is not repeated for half a minute, but fails with the same error. Throws PackageError, or the signal's
   * reason.
   */
  load(target: string, signal: AbortSignal): Promise<InstalledPackage>

  /** What is known about the package of a specifier, without checking; no version until somebody has loaded it. */
  state(target: string): PackagePlugin

  /**
   * Checks with the registry, bypassing all caches, whether there are newer versions that match the specifiers, and
   * records the results in their states. Packages that are not installed are left out; if the response is an error, or
   * none comes within twenty seconds, the state remains unchanged. Throws PackageError for anything that is not a
   * specifier, and the signal's reason.
   */
  check(targets: readonly string[], signal: AbortSignal): Promise<void>

  /**
   * Installs the version that a specifier stands for in the registry now, unless it is installed already. Keeps the
   * present installation if it fails. Throws PackageError, or the signal's reason; even then, the installation
   * continues, and is shared by whoever updates the same package meanwhile.
   */
  update(target: string, signal: AbortSignal): Promise<InstalledPackage>

  /**
   * Calls back when the state of a specifier has changed, or it is installed anew, until the returned object is
   * disposed.
   */
  watch(target: string, changed: () => void): Disposable
}
