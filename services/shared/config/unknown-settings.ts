import type { ConfigProblem } from '#shared/config/config-error.ts'
import type { Environment } from '#shared/config/environment.ts'
import { SETTING_NAMES } from '#shared/config/setting-names.ts'
import type { Logger } from '#shared/telemetry/logging.ts'

/** What a start has people export, and what tests are given: no process of the product reads it. */
const NO_SETTINGS = /^PORTICO_(API_KEY|MANAGEMENT_KEY|TEST_\w+)$/

const PREFIX = 'PORTICO_'
/** A name is near to another one when at most so many letters are missing, added or wrong, and at most half of its own. */
const NEAR = 5

/**
 * The variables that look like settings and are none, neither of this process, which reads those `declared`, nor of
 * another one of the product: all of them may share one file. Where a setting has a name much like it, it is suggested.
 */
export function unknownSettings(env: Environment, declared: ReadonlySet<string>): ConfigProblem[] {
  const known = [...new Set([...declared, ...SETTING_NAMES])].filter((name) => name.startsWith(PREFIX))
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && env[name] !== undefined)
    .filter((name) => !known.includes(name) && !NO_SETTINGS.test(name))
    .map((variable) => {
      const near = nearest(variable, known)
      return { variable, problem: `is not a known setting${near === undefined ? '' : `; did you mean ${near}?`}` }
    })
}

function nearest(name: string, known: readonly string[]): string | undefined {
  const most = Math.min(NEAR, (name.length - PREFIX.length) / 2)
  const ranked = known
    .map((other) => ({ other, distance: distanceBetween(name, other) }))
    .filter(({ distance }) => distance <= most)
  return ranked.sort((one, two) => one.distance - two.distance)[0]?.other
}

// Levenshtein's distance, row by row.
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

/** Names what {@link unknownSettings} finds in one line of the log. */
export function warnOfUnknownSettings(env: Environment, declared: ReadonlySet<string>, logger: Logger): void {
  const unknown = unknownSettings(env, declared).map(({ variable, problem }) => `${variable} ${problem}`)
  if (unknown.length > 0) logger.warn(`Unknown settings are ignored: ${unknown.join(' · ')}`)
}
