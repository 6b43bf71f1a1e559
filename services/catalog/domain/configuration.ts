export interface ConfigurationDocument {
  readonly path: string
  /** Whether the commands, addresses and modules that it names may be used. */
  readonly trusted: boolean
  readonly value: Readonly<Record<string, unknown>>
}

/** Whether a path is one of these directories or below one. All are real paths. */
export function isTrusted(path: string, directories: readonly string[]): boolean {
  return directories.some((directory) => path === directory || path.startsWith(`${directory.replace(/\/$/, '')}/`))
}

/** The message for users of something in an untrusted file. */
export function untrustedProblem(path: string): string {
  return `${path} is not trusted: add a directory above it to PORTICO_TRUSTED_DIRECTORIES, and restart Portico`
}
