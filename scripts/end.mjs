// The first import of `warm-cache.mjs`.
process.exit()
