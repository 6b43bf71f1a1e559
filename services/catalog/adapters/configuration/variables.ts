import { isObject } from '#shared/json.ts'

/** A variable of an environment; undefined: it is not set. */
export type Variable = (name: string) => string | undefined

const VARIABLE = /\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g

/** A value in whose texts `{env:NAME}` stands for the variable of that name, as in OpenCode; one that is not set stays as it is. */
export function withVariables(value: unknown, variable: Variable): unknown {
  if (typeof value === 'string') return value.replace(VARIABLE, (text, name) => variable(name) ?? text)
  if (Array.isArray(value)) return value.map((item) => withVariables(item, variable))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withVariables(item, variable)]))
}
