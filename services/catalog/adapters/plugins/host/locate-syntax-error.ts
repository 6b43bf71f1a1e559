import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** How many files are checked, the most recently imported ones, and the time for each. */
const MOST_FILES = 16
const CHECK_MS = 2_000

/** Syntax of ES modules that Node refuses in a file that it reads as CommonJS. */
const OF_ES_MODULES = /^(Unexpected token 'export'|Cannot use import statement outside a module)$/
const ADVICE =
  'Node reads this file as CommonJS; name it .mjs (.mts), or set "type": "module" in the nearest package.json'

/**
 * A SyntaxError in one of a module's files, with file and line in its message if they can be found; any other error is
 * returned unchanged.
 */
export function locateSyntaxError(error: unknown, files: Iterable<string>): unknown {
  if (!(error instanceof SyntaxError)) return error
  const named = placeInStack(error.stack)
  if (named !== undefined && OF_ES_MODULES.test(error.message)) {
    return new SyntaxError(`${named}: ${error.message}. ${ADVICE}`)
  }
  const place = named ?? findPlace(error.message, [...files].slice(-MOST_FILES).reverse())
  return place === undefined ? error : new SyntaxError(`${place}: ${error.message}`)
}

/** Node puts it into the first line for syntax that it cannot strip and for imports that it does not find. */
function placeInStack(stack = ''): string | undefined {
  const [, url, path, line] = /^(?:(file:\/\/.+)|(\/.+)):(\d+)\n/.exec(stack) ?? []
  const file = url === undefined ? path : fileURLToPath(url)
  return file === undefined ? undefined : `${file}:${line}`
}

/** For all other errors, Node prints it only when it runs the file. */
function findPlace(message: string, files: readonly string[]): string | undefined {
  for (const file of files) {
    const options = { input: readFileSync(file), timeout: CHECK_MS, killSignal: 'SIGKILL', encoding: 'utf8' } as const
    const { stderr } = spawnSync(process.execPath, ['--check', '--input-type=module', '-'], options)
    const [, line] = /^\[stdin\]:(\d+)\n/.exec(stderr) ?? []
    if (line !== undefined && stderr.includes(`\nSyntaxError: ${message}\n`)) return `${file}:${line}`
  }
  return undefined
}
