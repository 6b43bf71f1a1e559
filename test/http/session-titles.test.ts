import assert from 'node:assert/strict'
import test from 'node:test'
import { InstanceClient } from '#test/support/instance-client.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { chatConfig } from '#test/support/provider-config.ts'
import { answers, type ProviderStub, startStub } from '#test/support/provider-stub.ts'
import { waitFor } from '#test/support/wait-until.ts'

const ECHO = { providerID: 'portico', id: 'echo' }

interface Info {
  readonly title?: string
  readonly outcome?: string
  readonly tokens: { readonly output: number }
}

/** A server whose titles come from a provider of its own; everything else is said by `portico/echo`. */
function openWith(stub: ProviderStub, disabled: boolean): Promise<Portico> {
  const agents = { title: { disabled, model: 'openai/gpt-5.5' } }
  return openPortico({ PORTICO_CONFIG: chatConfig(stub) }, { '.opencode/opencode.json': JSON.stringify({ agents }) })
}

/** A run to its end; returns the session, and what its steps have put out. */
async function run(client: InstanceClient, id: string) {
  await client.prompt(id, { text: 'Count the files' })
  await client.wait(id)
  const { data: session } = (await client.get(`/api/session/${id}`)) as { data: Info }
  const steps = (await client.messages(id)) as { readonly tokens?: { readonly output: number } }[]
  return { session, output: steps.reduce((sum, { tokens }) => sum + (tokens?.output ?? 0), 0) }
}

test('a title that cannot be generated changes nothing, and is not tried again', async () => {
  await using stub = await startStub(answers(401, { error: { message: 'no' } }))
  await using portico = await openWith(stub, false)
  const client = new InstanceClient(portico.url)
  await client.post('/api/session', { id: 'ses_1', model: ECHO })
  await run(client, 'ses_1')
  await waitFor('the title has failed', () => portico.log.some(({ msg }) => msg === 'No title was found'))
  const { session, output } = await run(client, 'ses_1')
  assert.deepEqual([session.title, session.outcome, session.tokens.output], [undefined, 'succeeded', output])
  assert.equal(stub.seen.length, 1)
})

test('a slow title delays neither a step nor a waiting request', async () => {
  await using stub = await startStub(() => {})
  {
    await using portico = await openWith(stub, false)
    const client = new InstanceClient(portico.url)
    await client.post('/api/session', { id: 'ses_1', model: ECHO })
    const { session } = await run(client, 'ses_1')
    assert.deepEqual([session.title, session.outcome], [undefined, 'succeeded'])
    await waitFor('the provider has been asked', () => stub.seen.length === 1)
    assert.equal(stub.hangUps, 0)
  }
  await stub.hungUp
})

test('no title is generated if the title agent is disabled', async () => {
  await using stub = await startStub(answers(401, {}))
  await using portico = await openWith(stub, true)
  const client = new InstanceClient(portico.url)
  await client.post('/api/session', { id: 'ses_1', model: ECHO })
  const { session } = await run(client, 'ses_1')
  const headers = { 'content-type': 'application/json' }
  const patched = await portico.fetch('/api/session/ses_1', { method: 'PATCH', headers, body: '{"title":""}' })
  assert.equal(patched.status, 204)
  assert.deepEqual([session.title, session.outcome, stub.seen.length], [undefined, 'succeeded', 0])
})
