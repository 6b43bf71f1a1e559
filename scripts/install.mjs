// Runs before `npm start`, `npm test` and others, on the machine's own Node (20 or later): installs the packages in the
// lock file, unless exactly this lock file was installed last, and makes sure that npm scripts run on Node 24.
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** npm touches the claim every second (`install-beat.mjs`): if it is silent for this long, it was killed. */
const SILENCE_MS = 10_000

const root = fileURLToPath(new URL('..', import.meta.url))
const modules = `${root}node_modules`
/** The digest of what was installed last: written when all of it exists, removed before anything else is. */
const installed = `${modules}/.portico-installed`
/** Names the installing process. It is beside node_modules, which npm empties first. */
const claim = `${root}.installing`
const claimant = randomUUID()
const shell = process.platform === 'win32'

// The packages include programs, so an installation by another platform is of no use here.
const wanted = createHash('sha256')
  .update(`${process.platform} ${process.arch}\n`)
  .update(readFileSync(`${root}package-lock.json`))
  .digest('hex')

if (read(installed) === wanted) {
  refuseOldNode(process.version)
} else {
  await claimFolder()
  try {
    // The previous holder of the claim may have done it.
    if (read(installed) === wanted || (await install())) {
      refuseOldNode(spawnSync('node', ['--version'], { encoding: 'utf8', shell }).stdout?.trim() || 'none')
    } else {
      refuse('npm ci failed; its messages are above.')
    }
  } finally {
    if (read(claim) === claimant) rmSync(claim, { force: true })
  }
}

/**
 * Waits until nobody else installs in this folder. If two take over from a dead process at once, the later one wins.
 */
async function claimFolder() {
  for (let reported = false; ; reported = true) {
    const age = Date.now() - (statSync(claim, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN)
    if (Number.isNaN(age)) {
      if (write(claim, claimant, 'wx')) return
    } else if (Math.abs(age) > SILENCE_MS) {
      write(claim, claimant, 'w')
      await sleep(500)
      if (read(claim) === claimant) return
    } else if (!reported) {
      report('Another process installs in this folder; waiting for it …')
    }
    await sleep(100)
  }
}

/** Returns whether all of it exists. */
async function install() {
  report('Installing what package-lock.json names …')
  rmSync(installed, { force: true })
  const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const beat = `--import=${new URL(`install-beat.mjs?claimant=${claimant}`, import.meta.url)}`
  const env = { ...process.env, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${beat}`.trim() }
  const options = { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env }
  const npm = process.env.npm_execpath
  const child = npm
    ? spawn(process.env.npm_node_execpath ?? process.execPath, [npm, ...words], options)
    : spawn('npm', words, { ...options, shell })
  // A signal that only reaches this process also ends npm; then the claim is given up properly.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  const status = await new Promise((resolve) => {
    child.once('error', resolve)
    child.once('exit', resolve)
  })
  if (status !== 0) return false
  mkdirSync(modules, { recursive: true })
  write(`${installed}.new`, wanted, 'w')
  renameSync(`${installed}.new`, installed)
  return true
}

function refuseOldNode(version) {
  if (Number(/^v(\d+)\./.exec(version)?.[1]) >= 24) return
  refuse(
    `Portico needs Node 24: there is no pinned build for ${process.platform}-${process.arch}, and the system has ` +
      `${version}. Install Node 24 or later and try again.`,
  )
}

function refuse(message) {
  report(message)
  process.exitCode = 1
}

function report(message) {
  process.stderr.write(`${message}\n`)
}

function read(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Returns whether it was written: with the flag `wx`, somebody else may have been first. */
function write(path, text, flag) {
  try {
    writeFileSync(path, text, { flag })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}
