import assert from 'node:assert/strict'
import { asOperator, catalogTest, rejection, writeFiles } from '#test/support/catalog.ts'

catalogTest(
  'checks installed packages, and lists every plugin; a target that is not configured here is PLUGIN_NOT_FOUND',
  async (catalog) => {
    await writeFiles(catalog.project, {
      'opencode.json': '{"plugins":["acme@^1","./local.mjs","git+https://host/a.git"]}',
    })
    const { location, plugins } = await catalog.client.checkPlugins({}, asOperator)
    assert.equal(location?.directory, catalog.project)
    assert.deepEqual(
      plugins.map(({ source }) => source.value && ('target' in source.value ? source.value.target : source.case)),
      ['acme@^1', 'local', 'git+https://host/a.git'],
    )
    assert.equal((await catalog.client.checkPlugins({ target: 'acme@^1' }, asOperator)).plugins.length, 3)
    for (const target of ['acme', '', 'other', './local.mjs']) {
      await assert.rejects(
        catalog.client.checkPlugins({ target }, asOperator),
        rejection('PLUGIN_NOT_FOUND', { field: 'target', target }),
      )
    }
  },
)
