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

/** Looks up what specifiers stand for. */
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

/** What a specifier stands for in the registry. */
export interface Resolved {
  readonly version: string
  readonly integrity: string
}

/** How a look-up ended. */
export type Resolution =
  | (Resolved & {
      /** It is a later version than the installed one. */
      readonly newer: boolean
    })
  | { readonly problem: string }

/** How a job ended: an installation with what it installed, a look-up with one answer for each question. */
export type PackageAnswer =
  | { readonly type: 'installed'; readonly resolved: Resolved }
  | { readonly type: 'resolved'; readonly resolutions: readonly Resolution[] }
  | { readonly type: 'failed'; readonly problem: string }
