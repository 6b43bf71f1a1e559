import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { settingNames, settingsOfProcesses } from './settings.ts'

test('the names of settings are those of the schemas: else run npm run generate', () => {
  const { wanted, present } = settingNames()
  assert.equal(present, wanted)
})

test('docs/configuration.md says of each setting which processes read it', () => {
  const document = readFileSync(new URL('../docs/configuration.md', import.meta.url), 'utf8')
  const documented = new Map<string, string>()
  for (const [, variables = '', readBy = ''] of document.matchAll(/^\| (`[A-Z].*?) \|.*\| ([a-z, ]+) \|$/gm)) {
    for (const [, name = ''] of variables.matchAll(/`(\w+)`/g)) documented.set(name, readBy)
  }
  const processes = [...settingsOfProcesses()]
  const names = new Set(processes.flatMap(([, read]) => [...read]))
  for (const name of names) {
    // HOME belongs to the system; the file of a secret is read where the secret is.
    if (name === 'HOME' || name.endsWith('_FILE')) continue
    const by = processes.filter(([, read]) => read.has(name)).map(([process]) => process)
    assert.equal(documented.get(name), by.length === processes.length ? 'all' : by.join(', '), name)
  }
  for (const name of documented.keys()) assert.ok(names.has(name), `${name} is read by none`)
})
