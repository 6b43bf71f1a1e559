// Preloaded into the npm that `install.mjs` runs: shows that it is alive, and ends it if somebody else has taken its
// claim.
import { readFileSync, utimesSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const claim = fileURLToPath(new URL('../.installing', import.meta.url))
const claimant = new URL(import.meta.url).searchParams.get('claimant')

const beat = setInterval(() => {
  try {
    if (readFileSync(claim, 'utf8') !== claimant) process.exit(1)
    const now = new Date()
    utimesSync(claim, now, now)
  } catch {
    // Whoever started it has given up the claim, or will learn from npm itself what is wrong with the disk.
  }
}, 1_000)
beat.unref()
