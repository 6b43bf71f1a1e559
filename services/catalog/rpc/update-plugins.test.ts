import assert from 'node:assert/strict'
import { join } from 'node:path'
import { asOperator, catalogTest, rejection, writeFiles } from '#test/support/catalog.ts'
import { untrustedProblem } from '../domain/configuration.ts'

catalogTest(
  'an unknown target prevents every update; a plugin that may not run is a failure, and all are named',
  async (catalog) => {
    const text = '{"plugins":["acme@^1","git+https://host/a.git"]}'
    await writeFiles(catalog.project, { 'opencode.json': text })
    await catalog.client.updatePlugins({ targets: [] }, asOperator)
    await assert.rejects(
      catalog.client.updatePlugins({ targets: ['acme@^1', 'other'] }, asOperator),
      rejection('PLUGIN_NOT_FOUND', { field: 'targets', target: 'other' }),
    )
    const problem = untrustedProblem(join(catalog.project, 'opencode.json'))
    await assert.rejects(
      catalog.client.updatePlugins({ targets: ['acme@^1', 'git+https://host/a.git', 'acme@^1'] }, asOperator),
      rejection('PLUGINS_NOT_UPDATED', { problem: `acme@^1: ${problem}; git+https://host/a.git: ${problem}` }),
    )
  },
)
