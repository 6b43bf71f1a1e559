import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { InstanceClient } from '#test/support/instance-client.ts'
import { openPortico } from '#test/support/portico.ts'
import { chatConfig } from '#test/support/provider-config.ts'
import { answers, startStub } from '#test/support/provider-stub.ts'

interface Member {
  readonly type: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
}

interface Offered {
  readonly function: {
    readonly name: string
    readonly parameters: { readonly properties: Record<string, Member>; readonly required: readonly string[] }
  }
}

/** The tools that a model is offered in a project with a skill. */
async function offeredTools(): Promise<readonly Offered[]> {
  await using stub = await startStub(answers(401, { error: { message: 'no' } }))
  await using portico = await openPortico({ PORTICO_CONFIG: chatConfig(stub) }, { '.claude/skills/a/SKILL.md': 'A.' })
  const client = new InstanceClient(portico.url)
  await client.post('/api/session', { id: 'ses_1', model: { providerID: 'openai', id: 'gpt-5.5' } })
  await client.prompt('ses_1', { text: 'Hello' })
  await client.wait('ses_1')
  const [seen = assert.fail('the model was not called')] = stub.seen
  return (seen.body as { tools: Offered[] }).tools
}

function rangeOf(least: number, most: number | undefined): string {
  const [from, to] = [least, most].map((limit) => limit?.toLocaleString('en-US'))
  if (to === undefined) return least > 0 ? `at least ${from}` : ''
  return least > 0 ? `${from} to ${to}` : `at most ${to}`
}

function shownMember(name: string, { type, minLength, maxLength, minimum, maximum }: Member): string {
  const length = rangeOf(minLength ?? 0, maxLength)
  const range = length === '' ? rangeOf(minimum ?? 0, maximum) : `${length} characters`
  return `\`${name}\`: ${[type, range].filter(Boolean).join(', ')}`
}

/** A row of the table. */
function shownTool({ function: { name, parameters } }: Offered): string {
  const { properties, required } = parameters
  const shown = (isRequired: boolean) =>
    Object.entries(properties)
      .filter(([member]) => required.includes(member) === isRequired)
      .map(([member, schema]) => shownMember(member, schema))
      .join('; ')
  return `| \`${name}\` | ${[shown(true), shown(false)].map((text) => text || '–').join(' | ')} |`
}

test('the table of the built-in tools shows each with the members of its input and their limits', async () => {
  const [, section = ''] = readFileSync('docs/sessions.md', 'utf8').split('\n## Tools\n')
  const [table = ''] = /^\|.*\|\n(?=\n)/ms.exec(section) ?? []
  assert.deepEqual(table.trimEnd().split('\n').slice(2), (await offeredTools()).map(shownTool))
})
