/**
 * Name of the module that represents an installed package: through it, Node finds the package's own, whatever its
 * `exports` or `main` are.
 */
export const ENTRY = 'entry.mjs'
