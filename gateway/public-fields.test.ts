import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldNames as ofChat } from './chat/public-field.ts'
import { fieldNames as ofMessages } from './messages/public-field.ts'
import { fieldNames as ofResponses } from './responses/public-field.ts'

const COUNT = 1_000
const NAMES = Array.from({ length: COUNT }, (_, i) => `t${i}`)

/** Objects that count how often their types are read. */
function counted(members: (name: string) => object): { readonly list: never[]; readonly reads: () => number } {
  let reads = 0
  const list = NAMES.map((name) => {
    const { type, ...others } = members(name) as { type: string }
    const get = (): string => {
      reads++
      return type
    }
    return Object.defineProperty(others, 'type', { get, enumerable: true }) as never
  })
  return { list, reads: () => reads }
}

/** However many of their fields are named, and however many tools a choice allows. */
const FEW_READS = 10 * COUNT

test('the tools of a body are looked through once, however many of them are named', () => {
  const own = counted((name) => ({ type: 'function', name }))
  const allowed = counted((name) => ({ type: 'function', name }))
  const choice = { type: 'allowed_tools', mode: 'auto', tools: allowed.list } as const
  const responses = ofResponses({ body: { model: 'm', input: 'Hi', tools: own.list, tool_choice: choice } as never })
  const called = counted((name) => ({ type: 'function', function: { name } }))
  const chat = ofChat({ body: { messages: [], tools: called.list } as never })
  const custom = counted((name) => ({ type: 'custom', name, input_schema: {} }))
  const messages = ofMessages({ body: { messages: [], tools: custom.list } as never })
  for (const i of NAMES.keys()) {
    assert.equal(responses(`tools[${i}].deferred`), `tools.${i}.defer_loading`)
    assert.equal(chat(`tools[${i}].custom`), `tools.${i}.function`)
    assert.equal(messages(`tools[${i}].deferred`), `tools.${i}.defer_loading`)
  }
  for (const { reads } of [own, allowed, called, custom]) assert.ok(reads() < FEW_READS, `${reads()} reads`)
})
