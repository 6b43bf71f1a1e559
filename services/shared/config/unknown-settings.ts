import type { Logger } from 'pino'
import type { ConfigProblem } from '#shared/config/config-error.ts'
import { SETTING_NAMES } from '#shared/config/setting-names.ts'
import type { Environment } from '#shared/config/variables.ts'

/** Variables that the documents have people export, or that tests read; no process of the product reads them. */
const NO_SETTINGS = /^PORTICO_(API_KEY|MANAGEMENT_KEY|TEST_\w+)$/

const PREFIX = 'PORTICO_'
/**
 * Two names are similar if at most this many letters are missing, added or wrong, and at most half of the letters of
 * the name.
 */
const NEAR = 5

/**
 * Returns the variables that look like settings but are unknown, both to this process, which reads those `declared`,
 * and to the other processes of the product, since all of them may share one file of settings. A setting with a similar
 * name is suggested.
 */
export function unknownSettings(env: Environment, declared: ReadonlySet<string>): ConfigProblem[] {
  const names = [...new Set([...declared, ...SETTING_NAMES])].filter((name) => name.startsWith(PREFIX))
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && env[name] !== undefined)
    .filter((name) => !names.includes(name) && !NO_SETTINGS.test(name))
    .map((variable) => {
      const near = nearest(variable, names)
      return { variable, problem: `is not a known setting${near === undefined ? '' : `; did you mean ${near}?`}` }
    })
}

function nearest(name: string, names: readonly string[]): string | undefined {
  const most = Math.min(NEAR, (name.length - PREFIX.length) / 2)
  const ranked = names
    .map((other) => ({ other, distance: distanceBetween(name, other) }))
    .filter(({ distance }) => distance <= most)
  return ranked.sort((one, two) => one.distance - two.distance)[0]?.other
}

// The Levenshtein distance, row by row.
function distanceBetween(one: string, two: string): number {
  let row = Array.from({ length: two.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1]
    for (const [place, other] of [...two].entries()) {
      const replaced = (row[place] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(replaced, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** Logs what {@link unknownSettings} finds, in one line. */
export function warnOfUnknownSettings(env: Environment, declared: ReadonlySet<string>, logger: Logger): void {
  const unknown = unknownSettings(env, declared).map(({ variable, problem }) => `${variable} ${problem}`)
  if (unknown.length > 0) logger.warn(`Unknown settings are ignored: ${unknown.join(' · ')}`)
}
