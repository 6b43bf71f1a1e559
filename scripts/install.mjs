// Runs before `npm start` and `npm test`, on whatever Node the machine has (20 or later): installs what the lock names
// when the lock is newer than what is installed, and sees to it that npm scripts run on Node 24.
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const modified = (path) => statSync(`${root}${path}`, { throwIfNoEntry: false })?.mtimeMs ?? 0

if (modified('node_modules/.package-lock.json') < modified('package-lock.json')) {
  const npm = process.env.npm_execpath
  const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const options = { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }
  process.stderr.write('Installing what package-lock.json names …\n')
  const { status } = npm
    ? spawnSync(process.execPath, [npm, ...words], options)
    : spawnSync('npm', words, { ...options, shell: process.platform === 'win32' })
  if (status !== 0) fail('npm ci failed; its messages are above.')
}

const { stdout } = spawnSync('node', ['--version'], { encoding: 'utf8', shell: process.platform === 'win32' })
const major = Number(/^v(\d+)\./.exec(stdout ?? '')?.[1])
if (!(major >= 24)) {
  fail(
    `Portico needs Node 24: there is no pinned build for ${process.platform}-${process.arch}, and the system has ` +
      `${stdout?.trim() || 'none'}. Install Node 24 or later and try again.`,
  )
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
