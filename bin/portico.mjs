#!/usr/bin/env node
// The one entry: `portico COMMAND …`, or `portico FILE.ts …` for another program of this package. It begins on the
// machine's own Node (20 or later), installs the packages if they are missing, and goes on with Node 24.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { install, isInstalled, pinnedNode } from '../cli/install.mjs'

const COMMANDS = {
  serve: 'main.ts',
  gateway: 'gateway/main.ts',
  session: 'services/session/main.ts',
  catalog: 'services/catalog/main.ts',
  inference: 'services/inference/main.ts',
  identity: 'services/identity/main.ts',
  key: 'cli/key.ts',
  org: 'cli/org.ts',
  token: 'cli/token.ts',
  migrate: 'cli/migrate.ts',
  'replica-set': 'cli/replica-set.ts',
  health: 'cli/health.mjs',
}
const USAGE = `Usage: portico COMMAND [ARGUMENTS]

  serve [DIR]     everything in one process; DIR is the default project directory
  gateway, session, catalog, inference, identity
                  one of five processes that share a MongoDB replica set
  key             creates, lists, changes and deletes API keys
  org             creates and lists organizations, and changes their plans
  token           makes keys and tokens to try federation with, and rotates the signing key
  migrate         brings older stores up to this version
  replica-set     initiates the replica set that PORTICO_MONGODB_URI names
  health [URL]    checks once whether a process is healthy

key, org and token explain themselves: portico key help. docs/configuration.md lists the settings.
`
/** Otherwise Node opens its inspector at this signal, and whoever reaches its port can run code here. */
const NO_INSPECTOR = '--disable-sigusr1'

const [command = 'help', ...words] = process.argv.slice(2)
const entry = COMMANDS[command] ?? (/^[\w/.-]+\.ts$/.test(command) ? command : undefined)
if (['help', '--help', '-h'].includes(command)) {
  process.stdout.write(USAGE)
} else if (entry === undefined || !existsSync(new URL(`../${entry}`, import.meta.url))) {
  end(`Unknown command: ${command}\n${USAGE}`, 2)
} else if (command === 'health') {
  // A check needs no package, and any Node will do.
  await run(entry)
} else if (!isInstalled() && !install()) {
  end('npm ci failed; its messages are above.\n', 1)
} else if (Number.parseInt(process.versions.node, 10) < 24) {
  const node = pinnedNode()
  if (node === undefined) {
    const what = `there is no pinned build for ${process.platform}-${process.arch}, and this is ${process.version}`
    end(`Portico needs Node 24: ${what}. Install Node 24 or later and try again.\n`, 1)
  } else {
    runWith(node)
  }
} else if (!process.execArgv.includes(NO_INSPECTOR) && process.platform !== 'win32') {
  process.execve(process.execPath, [process.execPath, ...wordsOfNode()])
} else {
  module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/portico', import.meta.url)))
  await run(entry)
}

/** Runs a program in this process, with its arguments where programs look for them. */
async function run(file) {
  process.argv = [process.argv[0], process.argv[1], ...words]
  await import(new URL(`../${file}`, import.meta.url).href)
}

/** Stands in front of a process of another Node: passes signals on to it, and ends as it does. */
function runWith(node) {
  const child = spawn(node, wordsOfNode(), { stdio: 'inherit' })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  child.once('error', (error) => end(`${error.message}\n`, 1))
  child.once('exit', (code, signal) => {
    for (const each of signals) process.removeAllListeners(each)
    if (signal === null) process.exitCode = code
    else process.kill(process.pid, signal)
  })
}

function wordsOfNode() {
  return [...process.execArgv, NO_INSPECTOR, ...process.argv.slice(1)]
}

function end(text, code) {
  process.stderr.write(text)
  process.exitCode = code
}
