import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig as readGatewayConfig } from '#gateway/config.ts'
import { readConfig as readIdentityConfig } from '#services/identity/config.ts'
import { readConfig as readInferenceConfig } from '#services/inference/config.ts'
import { readConfig as readSessionConfig } from '#services/session/config.ts'
import { ConfigError } from '#shared/config/config-error.ts'
import type { Environment } from '#shared/config/variables.ts'
import { readProcessConfig, readServiceProcessConfig } from '#shared/process/process-config.ts'
import { scratchDirectory } from '#test/support/processes.ts'

const uri = 'mongodb://user:pass@127.0.0.1/?replicaSet=rs0'
const basic = (env: Environment) => readGatewayConfig({ PORTICO_AUTH: 'basic', ...env })
/** Every secret that may come from a file, the function that reads it, and a valid value. */
const SECRETS: readonly (readonly [name: string, read: (env: Environment) => unknown, value: string])[] = [
  ['PORTICO_INTERNAL_SECRET', (env) => readProcessConfig(env, []), 'a secret of processes'],
  ['PORTICO_INTERNAL_SECRET', (env) => readServiceProcessConfig(env, 'catalog'), 'a secret of processes'],
  ['PORTICO_MONGODB_URI', readIdentityConfig, uri],
  ['PORTICO_MONGODB_URI', readInferenceConfig, uri],
  ['PORTICO_MONGODB_URI', readSessionConfig, uri],
  ['PORTICO_BASIC_PASSWORD', basic, 'pass word'],
  ['PORTICO_BOOTSTRAP_MANAGEMENT_KEY', readIdentityConfig, 'mk-portico-0123456789'],
  ['PORTICO_BOOTSTRAP_API_KEY', readIdentityConfig, 'sk-portico-0123456789'],
  ['OPENAI_API_KEY', readInferenceConfig, 'sk-openai'],
  ['ANTHROPIC_API_KEY', readInferenceConfig, 'sk-ant'],
  ['OPENROUTER_API_KEY', readInferenceConfig, 'sk-or'],
]

for (const [name, read, value] of SECRETS) {
  test(`${name}_FILE (${read.name || 'a process'}) is as good as ${name}, and is refused beside it`, () => {
    using folder = scratchDirectory()
    const path = join(folder.path, 'secret')
    writeFileSync(path, `${value}\n`)
    const shown = JSON.stringify(read({ [`${name}_FILE`]: path }))
    assert.ok(shown.includes(JSON.stringify(value)), shown)
    const both = problemsOf(() => read({ [name]: value, [`${name}_FILE`]: path }))
    assert.deepEqual(both, [{ variable: `${name}_FILE`, problem: `must not be set together with ${name}` }])
    const gone = problemsOf(() => read({ [`${name}_FILE`]: join(folder.path, 'none') }))
    assert.deepEqual(gone, [
      { variable: `${name}_FILE`, problem: `${join(folder.path, 'none')} cannot be read (ENOENT)` },
    ])
    for (const text of ['', ' \n', 'one\ntwo']) {
      writeFileSync(path, text)
      const empty = problemsOf(() => read({ [`${name}_FILE`]: path }))
      assert.deepEqual(empty, [{ variable: `${name}_FILE`, problem: `${path} must contain exactly one line of text` }])
    }
  })
}

test('a problem of a secret in a file is reported with the name of the variable that names the file', () => {
  using folder = scratchDirectory()
  const path = join(folder.path, 'secret')
  writeFileSync(path, 'short')
  const problems = problemsOf(() => readProcessConfig({ PORTICO_INTERNAL_SECRET_FILE: path }, []))
  assert.deepEqual(problems, [
    { variable: 'PORTICO_INTERNAL_SECRET_FILE', problem: 'must have at least 16 characters' },
  ])
})

function problemsOf(read: () => unknown): unknown {
  try {
    read()
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return assert.fail('the settings were taken')
}
