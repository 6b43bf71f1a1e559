import { createHash } from 'node:crypto'
import { ConfigError } from '#shared/config/config-error.ts'

/**
 * Migrates a store from the version before it to its own: 2, 3, 4 … without gaps. (Version 1 is what the first release
 * creates; an empty store is created as it is now, without steps.) It may find work half done by a process that was
 * killed or lost its lease, and continues it. Once released it never changes: what a store contains is changed by
 * another step.
 */
export interface SchemaStep<S, R> {
  readonly version: number
  /** What it changes, for people who wait for it. */
  readonly name: string
  readonly up: (store: S) => R
}

/** What a store records of its form, and what this program expects of it. */
export interface StoreForm {
  readonly version: number
  /**
   * Of the descriptions of its tables (`digestOf`). Until the first release, forms change without steps, and a store of
   * another form is refused.
   */
  readonly digest: number
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

/** The digest of a description, which is plain JSON: from 1 to 2³¹, so that a SQLite file can carry it. */
export function digestOf(description: unknown): number {
  const hash = createHash('sha256').update(JSON.stringify(description)).digest()
  return (hash.readUInt32BE() >>> 1) + 1
}

/** The form that a store has after its last step. */
export function latestForm(schema: {
  readonly digest: number
  readonly steps: readonly SchemaStep<never, unknown>[]
}): StoreForm {
  return { version: schema.steps.at(-1)?.version ?? 1, digest: schema.digest }
}

/**
 * Throws unless the form of a store is that of this program or an earlier release. What a newer program, or another
 * one, wrote must not be touched.
 */
export function refuseForeign(place: StorePlace, stored: StoreForm, latest: StoreForm): void {
  if (stored.digest <= 0 || (stored.version === latest.version && stored.digest !== latest.digest)) {
    const wrote = 'has another form, which other code from before the first release wrote'
    const todo = `export its sessions with that code, or name another store in ${place.setting}`
    throw new SchemaError(place, `${wrote}: ${todo}`)
  }
  if (stored.version <= latest.version) return
  const wrote = `was written by a newer Portico (version ${stored.version}, this one knows ${latest.version})`
  throw new SchemaError(place, `${wrote}: use that version, or name another store in ${place.setting}`)
}

/** Throws unless a store has the latest form; `OlderStoreError` if it needs migration. */
export function requireLatest(place: StorePlace, stored: StoreForm, latest: StoreForm): void {
  refuseForeign(place, stored, latest)
  if (stored.version === latest.version) return
  const wrote = `was written by an older Portico (version ${stored.version} instead of ${latest.version})`
  throw new OlderStoreError(place, `${wrote}: stop the processes that use it and run \`npm run migrate\``)
}

/** What is reported before a step is run. */
export function lineOf(place: StorePlace, { version, name }: SchemaStep<never, unknown>): string {
  return `${place.name}: migrating it to version ${version} (${name})`
}
