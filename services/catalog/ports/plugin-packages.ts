/** A package of npm's registry that is installed, with what it depends on. */
export interface InstalledPackage {
  readonly name: string
  readonly version: string
  /** Absolute path of a module whose default export is the package's own. It differs for what is installed anew. */
  readonly entry: string
}

/** What is known of the package of a specifier, without looking. */
export interface PackageState {
  /** Installed version; undefined: none, or nobody has loaded it since this process began. */
  readonly version: string | undefined
  /** The last check found a newer version that fits, and no update has followed. */
  readonly outdated: boolean
  /** An update goes on. */
  readonly updating: boolean
}

/**
 * Packages of npm's registry that plugins come from, by the specifiers (`name`, `name@range`, `name@tag`) that configurations
 * name them by. Each has its own installation, with its own dependencies, which is replaced as a whole: whatever happens
 * at any moment, there is the old one or the new one. Nothing of a package runs while it is installed. Disposal ends what goes on.
 */
export interface PluginPackages extends AsyncDisposable {
  /**
   * The installation of a specifier; without one the package is installed first. What is there is returned without a call of the
   * registry, so it needs no network. All who load a specifier at once share one installation, which goes on when
   * the signal of one of them aborts. One that failed is not tried again for half a minute, but fails with the
   * same error. Throws PackageError, or the signal's reason.
   */
  load(target: string, signal: AbortSignal): Promise<InstalledPackage>

  state(target: string): PackageState

  /**
   * Asks the registry, past all caches and at the same time, whether there are newer versions that fit the specifiers, and notes
   * the answers in their states. What is not installed is left out; where the answer is an error, or none comes within ten seconds,
   * the state stays as it was. Throws PackageError for what is not a specifier, and the signal's reason.
   */
  check(targets: readonly string[], signal: AbortSignal): Promise<void>

  /**
   * Installs what a specifier stands for in the registry now, unless that is what is installed. Keeps what is installed when it fails. Throws
   * PackageError, or the signal's reason; then, too, the installation goes on, and is shared by whoever updates the same meanwhile.
   */
  update(target: string, signal: AbortSignal): Promise<InstalledPackage>

  /** Calls back when the state of a specifier has changed, or it is installed anew, until the answer is disposed of. */
  watch(target: string, changed: () => void): Disposable
}
