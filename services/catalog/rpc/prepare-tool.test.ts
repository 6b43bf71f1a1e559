import assert from 'node:assert/strict'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonObject } from '#shared/json.ts'
import { asOperator, type CatalogFixture, catalogTest, rejection, writeFiles } from '#test/support/catalog.ts'

async function prepare({ client }: CatalogFixture, name: string, input: JsonObject) {
  const { accesses, savePatterns } = await client.prepareTool({ name, input }, asOperator)
  return [...accesses.map(({ action, resources }) => [action, ...resources]), savePatterns]
}

catalogTest('returns the action and the paths relative to the location', async (catalog) => {
  await writeFiles(catalog.project, { 'src/a.ts': '' })
  const cases: readonly (readonly [string, JsonObject, string[][]])[] = [
    ['read', { path: 'src/../src/a.ts' }, [['read', 'src/a.ts']]],
    ['read', { path: join(catalog.project, 'src/a.ts') }, [['read', 'src/a.ts']]],
    ['list', {}, [['list', '.']]],
    ['glob', { pattern: '**' }, [['glob', '.']]],
    ['grep', { pattern: 'a', path: 'src' }, [['grep', 'src']]],
    ['write', { path: 'new/b.ts', content: '' }, [['edit', 'new/b.ts']]],
    ['edit', { path: 'src/a.ts', old_string: 'a', new_string: 'b' }, [['edit', 'src/a.ts']]],
    ['bash', { command: 'ls -l' }, [['bash', 'ls -l']]],
  ]
  for (const [name, input, accesses] of cases) {
    assert.deepEqual(await prepare(catalog, name, input), [...accesses, accesses.flatMap(([, ...rest]) => rest)], name)
  }
})

catalogTest('names a path outside of the location absolutely', async (catalog) => {
  const path = join(catalog.outside, 'x')
  assert.deepEqual(await prepare(catalog, 'read', { path: '../outside/x' }), [['read', path], [path]])
})

catalogTest('names the target of a link as well, so that a rule for it is not bypassed', async (catalog) => {
  await writeFiles(catalog.project, { '.env': 'secret' })
  await symlink('.env', join(catalog.project, 'harmless.txt'))
  await symlink(join(catalog.outside, 'not-yet'), join(catalog.project, 'dangling'))
  await symlink(catalog.outside, join(catalog.project, 'door'))
  assert.deepEqual((await prepare(catalog, 'read', { path: 'harmless.txt' }))[0], ['read', '.env', 'harmless.txt'])
  const beyond = join(catalog.outside, 'not-yet')
  assert.deepEqual((await prepare(catalog, 'write', { path: 'dangling', content: '' }))[0], [
    'edit',
    beyond,
    'dangling',
  ])
  const inDoor = [['read', join(catalog.outside, 'a/b'), 'door/a/b']]
  assert.deepEqual((await prepare(catalog, 'read', { path: 'door/a/b' })).slice(0, 1), inDoor)
})

catalogTest('searching one file counts as reading it', async (catalog) => {
  await writeFiles(catalog.project, { '.env': 'secret' })
  assert.deepEqual(await prepare(catalog, 'grep', { pattern: 'a', path: '.env' }), [
    ['grep', '.env'],
    ['read', '.env'],
    ['.env'],
  ])
})

catalogTest('saves no pattern that would match more than the call', async (catalog) => {
  assert.deepEqual(await prepare(catalog, 'bash', { command: 'rm *.log' }), [['bash', 'rm *.log'], []])
  assert.deepEqual(await prepare(catalog, 'read', { path: 'what?' }), [['read', 'what?'], []])
})

catalogTest('an unknown tool is TOOL_NOT_FOUND', async (catalog) => {
  for (const name of ['', 'nothing', 'constructor']) {
    await assert.rejects(prepare(catalog, name, {}), rejection('TOOL_NOT_FOUND', { name }))
  }
})

catalogTest('input that the tool cannot use is TOOL_INPUT_INVALID, in words that help the model', async (catalog) => {
  const cases: readonly (readonly [string, JsonObject, string])[] = [
    ['read', {}, "the input must have required property 'path'"],
    ['read', { path: 1 }, 'path must be string'],
    ['read', { path: '' }, 'path must NOT have fewer than 1 characters'],
    ['read', { path: 'a\0b' }, 'path must match pattern "^[^\\u0000]*$"'],
    ['read', { path: 'a'.repeat(4097) }, 'path must NOT have more than 4096 characters'],
    ['read', { path: 'a', offset: 0 }, 'offset must be >= 1'],
    ['read', { path: 'a', limit: 2001 }, 'limit must be <= 2000'],
    ['read', { path: 'a', file: 'b' }, 'the input must NOT have additional properties: file'],
    ['glob', { pattern: '{a,b}{c,d}'.repeat(10) }, 'pattern: it has too many alternatives'],
    ['grep', { pattern: '(' }, 'pattern: Invalid regular expression: /(/: Unterminated group'],
    ['grep', { pattern: 'a'.repeat(1001) }, 'pattern must NOT have more than 1000 characters'],
    ['write', { path: 'a', content: 'a'.repeat(5_000_001) }, 'content must NOT have more than 5000000 characters'],
    ['edit', { path: 'a', old_string: '', new_string: 'b' }, 'old_string must NOT have fewer than 1 characters'],
    ['bash', { command: 'a\0' }, 'command must match pattern "^[^\\u0000]*$"'],
    ['bash', { command: 'a'.repeat(30_001) }, 'command must NOT have more than 30000 characters'],
    ['bash', { command: 'a', timeout: 600_001 }, 'timeout must be <= 600000'],
  ]
  for (const [name, input, problem] of cases) {
    await assert.rejects(prepare(catalog, name, input), rejection('TOOL_INPUT_INVALID', { name, problem }))
  }
})
