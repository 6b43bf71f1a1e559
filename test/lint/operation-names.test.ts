import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { ALL_OPERATIONS } from '#gateway/app/operations.ts'

const RPCS = new Set(
  globSync('proto/portico/*/v1/*.proto').flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/^ {2}rpc (\w+)/gm)].map(([, name = '']) => name),
  ),
)
const SOURCES = globSync('gateway/**/*.ts')
  .filter((path) => !path.endsWith('.test.ts'))
  .map((path) => ({ folder: dirname(path), text: readFileSync(path, 'utf8') }))

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/**
 * `session.prompt` → `PromptSession`, `session.switchAgent` → `SwitchSessionAgent`, `policies.list` → `ListPolicies`.
 */
function rpcByName(id: string): string {
  const parts = id.replace(/^experimental\./, '').split('.')
  const [, verb = '', rest = ''] = /^([a-z]+)(.*)$/.exec(parts.pop() ?? '') ?? []
  const noun = parts.map(capital).join('').replace(/ies$/, 'y').replace(/s$/, '')
  return `${capital(verb)}${verb === 'list' ? `${noun}s`.replace(/ys$/, 'ies') : noun}${rest}`
}

/** Whether the folder of an operation, or the code that all dialects share, calls an RPC. */
function calls(id: string, rpc: string): boolean {
  const method = `.${rpc.slice(0, 1).toLowerCase()}${rpc.slice(1)}(`
  const home = SOURCES.find(({ text }) => text.includes(`'${id}'`))?.folder ?? assert.fail(`${id} is nowhere`)
  const own = SOURCES.filter(({ folder }) => folder.startsWith(home) || folder === 'gateway/generation')
  return own.some(({ text }) => text.includes(method))
}

/** The rows of the table: each operation id, with its RPCs. */
function documented(): Map<string, readonly string[]> {
  const [, table = ''] = readFileSync('docs/operation-names.md', 'utf8').split('| Operation id | RPC |\n|---|---|\n')
  const rows = (table.split('\n\n')[0] ?? '')
    .split('\n')
    .map((line) => line.split(' | ').map((cell) => [...cell.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name)))
  return new Map(
    rows.flatMap(([ids = [], rpcs = []]) =>
      ids.map((id, i) => [id, ids.length > 1 && rpcs.length === ids.length ? rpcs.slice(i, i + 1) : rpcs] as const),
    ),
  )
}

test('each operation calls the RPC of its name, or the one that docs/operation-names.md gives', () => {
  const table = documented()
  assert.ok(table.size > 20)
  for (const { id } of ALL_OPERATIONS) {
    const byName = rpcByName(id)
    const isByName = RPCS.has(byName) && calls(id, byName)
    assert.equal(table.has(id), !isByName, `${id}: ${isByName ? 'needs no row' : `calls no ${byName}, and has no row`}`)
  }
  for (const [id, rpcs] of table) {
    assert.ok(
      ALL_OPERATIONS.some((operation) => operation.id === id),
      `${id} is no operation`,
    )
    for (const rpc of rpcs) assert.ok(RPCS.has(rpc) && calls(id, rpc), `${id} does not call ${rpc}`)
  }
})
