import assert from 'node:assert/strict'
import { asOperator, catalogTest, rejection } from '#test/support/catalog.ts'

catalogTest('lists the tools in a fixed order, each with a closed schema', async ({ client }) => {
  const { tools } = await client.listTools({}, asOperator)
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['read', 'list', 'glob', 'grep', 'write', 'edit', 'bash'],
  )
  for (const { description, inputSchema } of tools) {
    assert.ok(description.length > 20)
    assert.equal(inputSchema?.type, 'object')
    assert.equal(inputSchema?.additionalProperties, false)
  }
})

catalogTest('lists none for a missing directory', async ({ client }) => {
  await assert.rejects(
    client.listTools({ directory: '/none-of-this' }, asOperator),
    rejection('LOCATION_NOT_FOUND', { directory: '/none-of-this' }),
  )
})
