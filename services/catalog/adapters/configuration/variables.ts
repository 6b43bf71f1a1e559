import { isObject } from '#shared/json.ts'

/** Returns an environment variable; undefined: it is not set. */
export type Variable = (name: string) => string | undefined

const VARIABLE = /\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g

/**
 * Replaces `{env:NAME}` in all texts of a value by the variable of that name, like OpenCode; a name that is not set
 * stays unchanged.
 */
export function withVariables(value: unknown, variable: Variable): unknown {
  if (typeof value === 'string') return value.replace(VARIABLE, (text, name) => variable(name) ?? text)
  if (Array.isArray(value)) return value.map((item) => withVariables(item, variable))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withVariables(item, variable)]))
}
