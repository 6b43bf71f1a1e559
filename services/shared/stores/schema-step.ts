import { ConfigError } from '#shared/config/config-error.ts'

/**
 * Migrates a store from the version before it to its own: 1, 2, 3 … without gaps; the first one creates the schema of
 * an empty store. It may find work half done by a process that was killed or lost its lease, and continues it. Once
 * released it never changes: what a store contains is changed by another step.
 */
export interface SchemaStep<S, R> {
  readonly version: number
  /** What it changes, for people who wait for it. */
  readonly name: string
  readonly up: (store: S) => R
}

/** Names a store in errors: what it is called, and the setting that chooses it. */
export interface StorePlace {
  readonly name: string
  readonly setting: string
}

/** Called with a line before each step. */
export type ReportStep = (line: string) => void

/** A store cannot be used as it is; the message is one line. */
class SchemaError extends ConfigError {
  constructor({ name, setting }: StorePlace, problem: string, options?: ErrorOptions) {
    super([{ variable: setting, problem }], options)
    this.message = `${name} ${problem}`
  }
}

/** A store needs migration; nothing in it was touched. */
export class OlderStoreError extends SchemaError {}

/** A step failed; the store still has the version before it. */
export class FailedStepError extends SchemaError {
  constructor(place: StorePlace, { version, name }: SchemaStep<never, unknown>, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(place, `could not be migrated to version ${version} (${name}) and is unchanged: ${why}`, { cause })
  }
}

/** The version of a store after its last step. */
function latestOf(steps: readonly SchemaStep<never, unknown>[]): number {
  return steps.at(-1)?.version ?? 0
}

/** Throws if the version is newer than these steps: what a newer program, or another one, wrote must not be touched. */
export function refuseNewer(place: StorePlace, version: number, steps: readonly SchemaStep<never, unknown>[]): void {
  const latest = latestOf(steps)
  if (version < 0) throw new SchemaError(place, `has version ${version}, which was not written by Portico`)
  if (version <= latest) return
  const wrote = `was written by a newer Portico (version ${version}, this one knows ${latest})`
  throw new SchemaError(place, `${wrote}: use that version, or name another store in ${place.setting}`)
}

/** Throws unless a store has the latest version; `OlderStoreError` if it needs migration. */
export function requireLatest(place: StorePlace, version: number, steps: readonly SchemaStep<never, unknown>[]): void {
  refuseNewer(place, version, steps)
  const latest = latestOf(steps)
  if (version === latest) return
  const wrote = `was written by an older Portico (version ${version} instead of ${latest})`
  throw new OlderStoreError(place, `${wrote}: stop the processes that use it and run \`npm run migrate\``)
}

/** What is reported before a step is run. */
export function lineOf(place: StorePlace, { version, name }: SchemaStep<never, unknown>): string {
  return `${place.name}: migrating it to version ${version} (${name})`
}
