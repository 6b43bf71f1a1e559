import assert from 'node:assert/strict'
import test from 'node:test'
import { firstProblem, STOP_AT_FIRST } from '#gateway/http/check.ts'
import { createResponseBody } from '#gateway/responses/body.ts'
import { openFacade, TEST_KEYS } from '#test/support/facade.ts'
import { forEachTransport } from '#test/support/transports.ts'

const base = '"model":"m","input":"x"'
const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

/** Each member that takes a JSON object to pass on. */
const FREE: Readonly<Record<string, (json: string) => string>> = {
  'tools.0.parameters': (json) => `"tools":[{"type":"function","name":"f","parameters":${json}}]`,
  'text.format.schema': (json) => `"text":{"format":{"type":"json_schema","name":"s","schema":${json}}}`,
  image_config: (json) => `"modalities":["image"],"image_config":${json}`,
}

forEachTransport((name, connect) => {
  test(`${name}: JSON that is passed on may nest 30 levels deep`, async () => {
    const inference = { generate: async () => ({ generation: {} }) }
    await using facade = await openFacade({ inference }, {}, connect)
    for (const [field, member] of Object.entries(FREE)) {
      const answer = await facade.fetch('/api/v1/responses', {
        method: 'POST',
        headers: { authorization: `Bearer ${TEST_KEYS.workspace}`, 'content-type': 'application/json' },
        body: `{${base},${member(nested(30))}}`,
      })
      assert.equal(answer.status, 200, `${field}: ${await answer.text()}`)
    }
  })
})

/** The path and message of the first problem of a body. */
function problemOf(body: string): string | undefined {
  const { error } = createResponseBody.safeParse(JSON.parse(body), STOP_AT_FIRST)
  if (error === undefined) return undefined
  const { path, message } = firstProblem(error)
  return `${path.join('.')}: ${message}`
}

test('JSON that is passed on has no more levels, no number out of range, and no prototype', () => {
  for (const [field, member] of Object.entries(FREE)) {
    const problem = (json: string): string | undefined => problemOf(`{${base},${member(json)}}`)
    assert.equal(problem(nested(30)), undefined)
    assert.equal(problem(nested(31)), `${field}: must be nested at most 30 levels deep`)
    assert.equal(
      problem(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
      `${field}: must be nested at most 30 levels deep`,
    )
    assert.equal(problem('{"maximum":1e999}'), `${field}: has a number that is too large`)
    const prototype = '{"properties":{"__proto__":{"type":"string"}}}'
    assert.equal(problem(prototype), `${field}: must not have a member called __proto__`)
  }
})

test('a list of any length is refused at its first problem', () => {
  const many = (item: string, count: number): string => `[${Array.from({ length: count }, () => item).join()}]`
  const tooMany = (member: string, most: number): string => `${member}: must have at most ${most} items`
  const million = many('0', 1_000_000)
  for (const [member, most] of [
    ['include', 256],
    ['plugins', 256],
    ['stop_server_tools_when', 256],
    ['models', 64],
    ['modalities', 2],
  ] as const) {
    assert.equal(problemOf(`{${base},"${member}":${million}}`), tooMany(member, most))
  }
  assert.equal(problemOf(`{"model":"m","input":${million}}`), 'input: has more than 50000 parts')
  assert.equal(problemOf(`{${base},"tools":${million}}`), 'tools: has more than 50000 items')
  const allowed = `{"type":"allowed_tools","mode":"auto","tools":${million}}`
  assert.equal(problemOf(`{${base},"tool_choice":${allowed}}`), 'tool_choice.tools: has more than 50000 items')
  const message = `{"role":"user","content":${many('{"type":"x"}', 100)}}`
  const problem = 'input.0.content.0.type: content of the type "x" is not supported here'
  assert.equal(problemOf(`{"model":"m","input":${many(message, 500)}}`), problem)
  assert.equal(problemOf(`{"model":"m","input":${many(message, 501)}}`), 'input: has more than 50000 parts')
  const parameters = `{"type":"function","name":"f","parameters":{"enum":${many('0', 5_000)}}}`
  const tools = `{${base},"tools":${many(parameters, 11)}}`
  assert.equal(problemOf(tools), 'tools: their parameters have more than 50000 members')
  const one = `{"type":"function","name":"f","parameters":{"enum":${many('0', 50_000)}}}`
  assert.equal(problemOf(`{${base},"tools":[${one}]}`), 'tools.0.parameters: must have at most 50000 members')
  const call = (text: string) => `{"type":"function_call","call_id":"c","name":"f","arguments":${JSON.stringify(text)}}`
  const calls = `{"model":"m","input":${many(call(many('0', 5_000)), 11)}}`
  const far =
    'are nested more than 100 levels deep, have more than 50000 members with those before, or a number of more than 1000 characters'
  assert.equal(problemOf(calls), `input.10.arguments: ${far}`)
  assert.equal(problemOf(`{"model":"m","input":[${call('['.repeat(101))}]}`), `input.0.arguments: ${far}`)
  const instructions = 'must have at most 8388608 characters'
  assert.equal(problemOf(`{${base},"instructions":"${'x'.repeat(8_388_609)}"}`), `instructions: ${instructions}`)
  const pairs = Array.from({ length: 10_000 }, (_, i) => `"k${i}":0`).join()
  assert.equal(problemOf(`{${base},"metadata":{${pairs}}}`), 'metadata: must have at most 16 pairs')
})
