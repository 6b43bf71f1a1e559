import type { PackageSpecifier } from '#services/catalog/domain/package-specifier.ts'
import type { PackageLimits } from './limits.ts'

/** A job for a thread. */
export type PackageJob = InstallJob | ResolveJob

/** Installs a package, with its dependencies, in an empty folder. */
export interface InstallJob {
  readonly type: 'install'
  readonly specifier: PackageSpecifier
  readonly folder: string
  readonly registry: string
  readonly limits: PackageLimits
}

/** Looks up specifiers in the registry. */
export interface ResolveJob {
  readonly type: 'resolve'
  readonly questions: readonly Question[]
  readonly registry: string
  readonly limits: PackageLimits
}

export interface Question {
  readonly specifier: PackageSpecifier
  /** The installed version. */
  readonly installed: string
}

/** The version that a specifier stands for in the registry. */
export interface Resolved {
  readonly version: string
  readonly integrity: string
}

/** The result of a look-up. */
export type Resolution =
  | (Resolved & {
      /** It is newer than the installed version. */
      readonly newer: boolean
    })
  | { readonly problem: string }

/** The result of a job: for an installation, what was installed; for a look-up, one result for each question. */
export type PackageAnswer =
  | { readonly type: 'installed'; readonly resolved: Resolved }
  | { readonly type: 'resolved'; readonly resolutions: readonly Resolution[] }
  | { readonly type: 'failed'; readonly problem: string }
