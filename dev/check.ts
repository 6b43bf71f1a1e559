// `npm test` and `npm run check`: format, lint with the import matrix, proto lint, generated code in step, types,
// tests. Usage: check.ts [TEST_FILE …]
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { styleText } from 'node:util'
import { groupTests } from './test-groups.ts'
import { folderInMemory, lastWords, startMongo } from './test-mongo.ts'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
process.env.PATH = `${join(process.cwd(), 'node_modules/.bin')}${process.platform === 'win32' ? ';' : ':'}${process.env.PATH}`
// No check may send reports.
Object.assign(process.env, { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' })
const scratch = mkdtempSync(join(folderInMemory() ?? tmpdir(), 'portico-check-'))
const removeScratch = (): void => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 })
let runner: ChildProcess | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    runner?.kill(signal)
    removeScratch()
    process.kill(process.pid, signal)
  })
}
const started = performance.now()

const STEPS: readonly (readonly [title: string, ...commands: string[]])[] = [
  [
    'format and lint',
    'node dev/lint-matrix.ts --check',
    'node dev/lint-words.ts',
    'node dev/lint-house.ts',
    'biome ci --error-on-warnings .',
  ],
  ['proto', 'buf lint', 'buf format --diff --exit-code'],
  ['generated code', `buf generate --output ${scratch}`, `git diff --no-index --exit-code gen ${join(scratch, 'gen')}`],
  ['openapi', 'node dev/openapi.ts --check', 'redocly lint --format=stylish docs/openapi.json'],
]
/** They take longest, on one core, so the tests begin beside them. */
const TYPES = ['types', 'tsc --noEmit'] as const

/** What an installation and earlier starts have compiled (bin/portico.mjs). */
const COMPILED = 'node_modules/.cache/portico'

/**
 * A test that fails may leave something open that keeps its process, and so the whole run, from ending. No limit is a
 * figure: a machine that is five times slower than usual stays below them.
 */
const MOST_MS = 3 * 3_600_000
const MOST_OF_A_TEST_MS = 20 * 60_000

try {
  const files = process.argv.slice(2)
  const types = files.length > 0 ? true : run(...TYPES)
  const ok = files.length > 0 || (await stepsPass())
  process.exitCode = ok && (await test(files, types)) && (await types) ? 0 : 1
} finally {
  removeScratch()
}

/** Runs the steps concurrently; each reports when it is over, and all of them do, however many fail. */
async function stepsPass(): Promise<boolean> {
  const passed = await Promise.all(
    STEPS.map(async ([title, ...commands]) => {
      for (const command of commands) if (!(await run(title, command))) return false
      return true
    }),
  )
  return passed.every(Boolean)
}

async function run(title: string, command: string): Promise<boolean> {
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const [[status], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  const report = `${status === 0 ? 'ok' : 'FAILED'}  ${title}: ${command.replace(scratch, 'SCRATCH')}\n`
  process.stdout.write(status === 0 ? report : `${report}${stdout}${stderr}`)
  return status === 0
}

/**
 * Runs the tests with an environment of their own: no key, home folder or setting of this machine, and only loopback
 * addresses. All MongoDB suites share one server.
 */
async function test(files: readonly string[], types: boolean | Promise<boolean>): Promise<boolean> {
  const mongo = await startMongo(scratch)
  const compiled = join(scratch, 'compiled')
  if (existsSync(COMPILED)) cpSync(COMPILED, compiled, { recursive: true })
  const environment: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: join(scratch, 'home'),
    TMPDIR: scratch,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    GIT_CONFIG_NOSYSTEM: '1',
    // Tests start many processes from the same files.
    NODE_COMPILE_CACHE: compiled,
    NODE_OPTIONS: `--import=${new URL('../test/support/loopback-only.ts', import.meta.url)}`,
    ...(mongo.uri === undefined ? {} : { PORTICO_TEST_MONGODB_URI: mongo.uri }),
    ...(mongo.binary === undefined ? {} : { PORTICO_TEST_MONGOD: mongo.binary }),
  }
  const wanted =
    files.length > 0
      ? files
      : groupTests('.', '{services,gateway,test,cli,dev,bench}/**/*.test.ts', join(scratch, 'tests'))
  // Six for two cores, since many files wait most of their time.
  const flags = ['--test-concurrency=6', `--test-timeout=${MOST_OF_A_TEST_MS}`, '--test-reporter=spec']
  const hooks = `--import=${new URL('../test/support/test-hooks.ts', import.meta.url)}`
  const words = [hooks, '--test', ...flags, ...wanted]
  // Not spawnSync: it would block this process, so that nobody would read mongod's output, and mongod would stop.
  const tests = spawn(process.execPath, words, { stdio: 'inherit', env: environment })
  runner = tests
  // It then names the files that have not ended.
  const late = setTimeout(() => tests.kill('SIGTERM'), MOST_MS)
  const [status] = await once(tests, 'exit')
  clearTimeout(late)
  const passed = status === 0 && (await types)
  await mongo.stop()
  const minutes = ((performance.now() - started) / 60_000).toFixed(1)
  process.stdout.write(lastWords(mongo, passed, minutes, (words) => styleText('red', words)))
  return passed && (mongo.uri !== undefined || process.env.PORTICO_TEST_MONGODB_REQUIRED === undefined)
}
