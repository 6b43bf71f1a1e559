import { z } from 'zod'
import { ConfigError, type ConfigProblem } from '#shared/config/config-error.ts'
import { readSecretFile } from '#shared/config/secret-file.ts'
import { unknownSettings } from '#shared/config/unknown-settings.ts'
import type { Environment } from '#shared/config/variables.ts'
import { schemaProblem } from '#shared/schema-problem.ts'

/** A configuration that nothing can change any more. */
export type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T

/**
 * Reads settings with a schema whose keys are variable names. A variable that is set but empty counts as unset. Each of
 * the `secrets` may come from a file instead, which the variable `NAME_FILE` names. The result is frozen, nested
 * objects included. Throws a ConfigError with every problem.
 */
export function readEnvironment<S extends z.ZodType>(
  schema: S,
  env: Environment,
  secrets: readonly string[] = [],
): z.output<S> {
  for (const name of [...namesOf(schema), ...secrets.map(fileVariableOf)]) declared.add(name)
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const files = readSecrets(present, secrets)
  const result = schema.safeParse(present, { error: schemaProblem })
  if (result.success && files.problems.length === 0) return deepFreeze(result.data)
  const problems = result.error?.issues.map((issue): ConfigProblem => {
    const name = String(issue.path[0] ?? 'environment')
    const variable = files.names.get(name) ?? name
    return { variable, problem: problemOf(issue, issue.path[0] === undefined || variable in present) }
  })
  const unread = new Set(files.problems.map(({ variable }) => variable))
  throw new ConfigError([...files.problems, ...(problems ?? []).filter(({ variable }) => !unread.has(variable))])
}

let declared = new Set<string>()

/** The names of all variables that this process has read settings from so far. */
export const declaredVariables = (): ReadonlySet<string> => declared

/** The names of all variables that `read` reads. */
export function variablesOf(read: (env: Environment) => unknown): ReadonlySet<string> {
  const before = declared
  declared = new Set()
  try {
    read({})
  } catch (error) {
    // Required variables are missing, but all names are known by now.
    if (!(error instanceof ConfigError)) throw error
  }
  const present = declared
  declared = before
  return present
}

function namesOf(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodPipe) return namesOf(schema.in as z.ZodType)
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}

/** The variable that names the file with a secret. */
export const fileVariableOf = (name: string): string => `${name}_FILE`

// Adds the contents of secret files to `present`. Returns what is wrong with them, and which variable each of these
// secrets came from.
function readSecrets(present: Record<string, string | undefined>, secrets: readonly string[]) {
  const names = new Map<string, string>()
  const problems: ConfigProblem[] = []
  for (const name of secrets) {
    const variable = fileVariableOf(name)
    const path = present[variable]
    if (path === undefined) continue
    if (name in present) {
      problems.push({ variable, problem: `must not be set together with ${name}` })
      continue
    }
    names.set(name, variable)
    try {
      present[name] = readSecretFile(path)
    } catch (error) {
      problems.push({ variable, problem: error instanceof Error ? error.message : String(error) })
    }
  }
  return { names, problems }
}

/**
 * Reads several configurations from one environment; throws one ConfigError with the problems of all of them. It also
 * warns of variables that nobody reads, since one of them may be a missing name, misspelt.
 */
export function readTogether<T extends Record<string, (env: Environment) => unknown>>(
  env: Environment,
  readers: T,
): { readonly [K in keyof T]: ReturnType<T[K]> } {
  const problems = new Map<string, ConfigProblem>()
  const configs: Record<string, unknown> = {}
  for (const [name, read] of Object.entries(readers)) {
    try {
      configs[name] = read(env)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      for (const problem of error.problems) problems.set(`${problem.variable} ${problem.problem}`, problem)
    }
  }
  if (problems.size > 0) throw new ConfigError([...problems.values()], { warnings: unknownSettings(env, declared) })
  return Object.freeze(configs) as { readonly [K in keyof T]: ReturnType<T[K]> }
}

function problemOf(issue: z.core.$ZodIssue, present: boolean): string {
  if (!present && (issue.code === 'invalid_type' || issue.code === 'invalid_value')) return 'must be set'
  const [, ...place] = issue.path
  // A list that was written with commas: the message quotes the wrong member, since nobody counts them.
  return place.length === 0 || (place.length === 1 && typeof place[0] === 'number')
    ? issue.message
    : `${place.join('.')}: ${issue.message}`
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value) && !ArrayBuffer.isView(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) deepFreeze(member)
  }
  return value
}
