/** A configuration document. */
export interface ConfigurationDocument {
  readonly path: string
  /** Whether the commands, addresses and modules that it names may be used. */
  readonly trusted: boolean
  readonly value: Readonly<Record<string, unknown>>
}
