import { readFile, realpath } from 'node:fs/promises'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { gte } from 'semver'
import { PackageError } from '#services/catalog/domain/package-specifier.ts'
import { isObject } from '#shared/json.ts'
import { orAborted } from '#shared/or-aborted.ts'
import { Places } from '#shared/places.ts'
import { type CommandEnd, quote, readToEnd, type StartCommand } from '../commands/command.ts'

const AT_ONCE = 4
const MAX_HEAP_MIB = 512
const MAX_OUTPUT_CHARACTERS = 1 << 20
const MAX_PROBLEM_CHARACTERS = 500
/** The first npm that can refuse everything that is no package of the registry, also as a dependency. */
const OLDEST = '11.14.0'
const PROGRAM = 'node_modules/npm/bin/npm-cli.js'

/** Where npm keeps the responses of the registry, relative to the folder of an installation. */
export const CACHE = '.cache'

/** Nothing of a package is run or linked, no host but the registry is called, and no settings of a user apply. */
const SETTINGS = [
  ...['--ignore-scripts', '--no-bin-links', '--no-audit', '--no-fund', '--no-update-notifier', '--no-package-lock'],
  ...['--allow-git=none', '--allow-remote=none', '--allow-file=none', '--allow-directory=none'],
  ...['--replace-registry-host=always', '--prefer-online', '--fetch-retries=1', '--fetch-retry-mintimeout=100'],
  ...['--fetch-timeout=10000', '--userconfig=.npmrc', '--globalconfig=.npmrc-global', `--cache=${CACHE}`],
  ...['--logs-max=0', '--loglevel=silent', '--json'],
]

const UNREACHABLE =
  /^(ECONN\w+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT|E?IDLETIMEOUT|FETCH_ERROR)$/
const FORBIDDEN_KIND = /^EALLOW(\w+)$/

export interface NpmOptions {
  /** Address of the registry, the only one that is used. */
  readonly registry: string
  readonly start: StartCommand
  readonly shell: string
  /** Only its PATH is used, in which npm is found. */
  readonly environment: Readonly<Record<string, string>>
}

/**
 * The command line of npm, in supervised processes of the Node that runs this one: they get no key, and end with this
 * process, with their time or with the signal. At most four run at once, each with a heap of at most 512 MiB.
 */
export class Npm {
  readonly #options: NpmOptions
  readonly #places = new Places(AT_ONCE)

  constructor(options: NpmOptions) {
    this.#options = options
  }

  /**
   * Runs npm in a folder, within a time in milliseconds from its beginning, and returns the JSON that it prints. Throws
   * PackageError, or the signal's reason; nothing runs any more then.
   */
  async run(words: readonly string[], folder: string, limitMs: number, signal: AbortSignal) {
    using _place = await this.#places.take(signal)
    const { registry, start, shell, environment } = this.#options
    const { PATH = '' } = environment
    const node = [process.execPath, '--no-warnings', `--max-old-space-size=${MAX_HEAP_MIB}`]
    const all = [...node, await findNpm(PATH), ...words, ...SETTINGS, `--registry=${registry}`]
    const command = `exec ${all.map(quote).join(' ')}`
    const late = AbortSignal.timeout(limitMs)
    await using child = await start({ shell, command, directory: folder, environment: { PATH, HOME: folder } })
    let output = ''
    child.output.setEncoding('utf8')
    child.output.on('data', (text: string) => {
      if (output.length < MAX_OUTPUT_CHARACTERS) output += text
    })
    try {
      const end = await orAborted(child.ended, AbortSignal.any([signal, late]))
      await readToEnd(child.output)
      return parseOutput(output, end)
    } catch (error) {
      throw error === late.reason ? new PackageError(`it took longer than ${limitMs / 1_000} s`) : error
    }
  }
}

/** Finds the npm of a PATH, or the one beside Node. Throws PackageError if there is none that is new enough. */
export async function findNpm(path: string): Promise<string> {
  const older: string[] = []
  for (const folder of [...path.split(delimiter).filter(isAbsolute), dirname(process.execPath)]) {
    for (const candidate of [join(folder, 'npm'), join(folder, '../lib', PROGRAM)]) {
      const program = await realpath(candidate).catch(() => '')
      if (!program.endsWith('npm-cli.js')) continue
      const { version } = JSON.parse(await readFile(join(program, '../../package.json'), 'utf8')) as { version: string }
      if (gte(version, OLDEST)) return program
      older.push(version)
    }
  }
  const present = older.length > 0 ? `the npm in PATH is ${older[0]}` : 'there is no npm in PATH'
  throw new PackageError(
    `npm ${OLDEST} or later is needed to install packages of plugins, but ${present}; npm install -g npm@11 installs one`,
  )
}

function parseOutput(output: string, { code, signal }: CommandEnd): Record<string, unknown> {
  const answer = parseObject(output)
  const error = answer?.error
  if (isObject(error)) throw new PackageError(problemOf(`${error.code ?? ''}`, `${error.summary ?? ''}`))
  if (signal === 'SIGABRT') throw new PackageError('it took too much memory')
  // `outdated` exits with 1 if something is.
  if (code !== 0 && answer === undefined) {
    throw new PackageError(`npm failed (${signal ?? code}) ${output.trim()}`.slice(0, MAX_PROBLEM_CHARACTERS))
  }
  return answer ?? {}
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** What went wrong, for people. */
function problemOf(code: string, summary: string): string {
  const message = summary.slice(0, MAX_PROBLEM_CHARACTERS)
  if (UNREACHABLE.test(code)) return `the registry cannot be reached (${code})`
  const kind = FORBIDDEN_KIND.exec(code)?.[1]?.toLowerCase()
  if (kind !== undefined) return `a dependency is no package of the registry (${kind}), and refused`
  if (code === 'EINTEGRITY') return 'a tarball does not match its integrity'
  if (code === 'E404') return `the registry does not have it: ${message}`
  return code === '' || message.includes(code) ? message : `${message} (${code})`
}
