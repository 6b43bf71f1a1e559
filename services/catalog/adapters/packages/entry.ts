/** Name of the module that stands for an installed package: Node finds the package's own by it, whatever its `exports` or `main` say. */
export const ENTRY = 'entry.mjs'
