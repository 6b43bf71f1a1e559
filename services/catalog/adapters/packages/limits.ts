/** Limits of one installation, including all dependencies. */
export interface PackageLimits {
  /** Bytes of one tarball. */
  readonly tarballBytes: number
  /** Bytes of all files together. */
  readonly unpackedBytes: number
  readonly files: number
  readonly packages: number
  /** Nested folders: `node_modules` in `node_modules`, and within one package. */
  readonly depth: number
  /** Milliseconds from beginning to end. */
  readonly installMs: number
  /** Milliseconds for one check of the registry. */
  readonly checkMs: number
}

/** Enough for what people publish, but not for what would fill a disk. */
export const PACKAGE_LIMITS: PackageLimits = Object.freeze({
  tarballBytes: 128 << 20,
  unpackedBytes: 512 << 20,
  files: 50_000,
  packages: 1_000,
  depth: 32,
  installMs: 120_000,
  checkMs: 10_000,
})
