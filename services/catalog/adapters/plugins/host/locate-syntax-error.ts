import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Files that are looked through, those that were imported last, and the time for each. */
const MOST_FILES = 16
const CHECK_MS = 2_000

/** A SyntaxError of one of the files of a module, with file and line in its message, where they can be found; any other error as it is. */
export function locateSyntaxError(error: unknown, files: Iterable<string>): unknown {
  if (!(error instanceof SyntaxError)) return error
  const place = placeInStack(error.stack) ?? findPlace(error.message, [...files].slice(-MOST_FILES).reverse())
  return place === undefined ? error : new SyntaxError(`${place}: ${error.message}`)
}

/** Node puts it into the first line, for what it cannot strip and for what an import does not find. */
function placeInStack(stack = ''): string | undefined {
  const [, url, path, line] = /^(?:(file:\/\/.+)|(\/.+)):(\d+)\n/.exec(stack) ?? []
  const file = url === undefined ? path : fileURLToPath(url)
  return file === undefined ? undefined : `${file}:${line}`
}

/** Of all other errors it says that only to who starts it. */
function findPlace(message: string, files: readonly string[]): string | undefined {
  for (const file of files) {
    const options = { input: readFileSync(file), timeout: CHECK_MS, killSignal: 'SIGKILL', encoding: 'utf8' } as const
    const { stderr } = spawnSync(process.execPath, ['--check', '--input-type=module', '-'], options)
    const [, line] = /^\[stdin\]:(\d+)\n/.exec(stderr) ?? []
    if (line !== undefined && stderr.includes(`\nSyntaxError: ${message}\n`)) return `${file}:${line}`
  }
  return undefined
}
