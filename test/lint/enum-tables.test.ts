import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

/** Each dialect of generation has its own words for the same values. */
const DIALECTS = ['gateway/responses', 'gateway/chat', 'gateway/messages']
/** So has each API of a provider. */
const PROVIDERS = ['anthropic', 'openai', 'openai-responses'].map((api) => `services/inference/adapters/${api}`)
const OWNERS = [
  'gateway',
  ...DIALECTS,
  ...PROVIDERS,
  'services/catalog',
  'services/identity',
  'services/inference',
  'services/session',
]

/** Whether a file below an owner belongs to another one: a dialect, or an API of a provider. */
const isOfAnother = (owner: string, path: string): boolean =>
  [...DIALECTS, ...PROVIDERS].some((other) => other !== owner && path.startsWith(`${other}/`))

/** A member of an object literal whose key or value is an enum value. */
const MEMBER = /(?:^|[{,\s])(?:[\w'-]+:\s*|\[)([A-Z]\w*)\.[A-Z][A-Z_]+\b/g

/** The enums for which a text has tables: object literals with two values or more. An alias stands for its enum. */
function tablesOf(text: string): string[] {
  return [...text.matchAll(/\{[^{}]*\}/g)].flatMap(([literal]) => {
    const names = [...literal.matchAll(MEMBER)].map(([, name = '']) => name)
    const [first = ''] = names
    const enumName = new RegExp(`(\\w+) as ${first}\\b`).exec(text)?.[1] ?? first
    return names.length >= 2 && new RegExp(`\\b${enumName}\\b[^;]*?from '#gen/`).test(text) ? [enumName] : []
  })
}

test('a service and the gateway have at most one table of an enum', () => {
  for (const owner of OWNERS) {
    const files = globSync(`${owner}/**/*.ts`).filter((path) => !path.endsWith('.test.ts') && !isOfAnother(owner, path))
    const found = files.flatMap((path) => tablesOf(readFileSync(path, 'utf8')).map((name) => ({ name, path })))
    assert.ok(PROVIDERS.includes(owner) || found.length > 0, owner)
    for (const [name, tables = []] of Object.entries(Object.groupBy(found, (each) => each.name))) {
      const paths = tables.map(({ path }) => path)
      assert.equal(paths.length, 1, `${name} has tables in ${paths.join(' and ')}`)
    }
  }
})
