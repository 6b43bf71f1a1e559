import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { InstanceClient } from '#test/support/instance-client.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { type Replicas, startReplicas } from '#test/support/product.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** A busy machine renews it in time. */
const LEASE_SECONDS = 12

describe('five processes without PORTICO_SESSION_AUTO_RESUME', { skip: skipWithoutMongo }, () => {
  const project = scratchDirectory()
  const database = freshDatabaseName()
  let product: Replicas
  let client: InstanceClient

  before(async () => {
    const environment = {
      PORTICO_MONGODB_DATABASE: database,
      PORTICO_SESSION_LEASE_SECONDS: String(LEASE_SECONDS),
      PORTICO_SESSION_AUTO_RESUME: 'off',
    }
    product = await startReplicas(mongoUri() ?? '', { dataDirectory: '', project: project.path, environment }, 1)
    client = new InstanceClient(product.url)
  })
  after(async () => {
    await product?.kill()
    await dropDatabase(database)
    project[Symbol.dispose]()
  })

  const courseOf = async (id: string) =>
    (await client.messages(id)).flatMap(({ id, type, outcome }) => (type === 'user' ? [id] : (outcome ?? [])))
  const inboxOf = async (id: string) =>
    ((await client.get(`/api/session/${id}/inbox`)) as { data: { id: string }[] }).data.map(({ id }) => id)

  async function cutOff(name: string): Promise<string> {
    const id = await client.createSession()
    await client.prompt(id, { id: `msg_${name}_1`, text: '/slow 60000\none two' })
    await waitFor('the run', async () => (await client.messages(id)).length === 2)
    await client.prompt(id, { id: `msg_${name}_2`, text: 'Two', delivery: 'queue' })
    await client.prompt(id, { id: `msg_${name}_3`, text: 'Three' })
    return id
  }

  test('a run that kill -9 cut off ends as interrupted, and waiting inputs stay parked until a prompt or a resume', async () => {
    const [one, two, three] = [await cutOff('a'), await cutOff('b'), await cutOff('c')]
    const [side] = product.sides
    await side?.session.process().kill()
    await side?.session.restart()
    // The lease lives on for a while. A wake counts for its owner until the next renewal was due; this one comes later.
    await delay(500 * LEASE_SECONDS)
    await client.prompt(three, { id: 'msg_c_4', text: 'Four' })
    await Promise.all([one, two, three].map((id) => client.wait(id)))
    assert.deepEqual(await courseOf(one), ['msg_a_1', 'interrupted'])
    assert.deepEqual(await inboxOf(one), ['msg_a_2', 'msg_a_3'])
    const steered = (name: string) => [`msg_${name}_3`, `msg_${name}_4`, 'succeeded', `msg_${name}_2`, 'succeeded']
    assert.deepEqual(await courseOf(three), ['msg_c_1', 'interrupted', ...steered('c')])
    await client.post(`/api/session/${one}/resume`, undefined).catch(() => {})
    await client.prompt(two, { id: 'msg_b_4', text: 'Four' })
    await client.wait(two)
    assert.deepEqual((await courseOf(two)).slice(2), steered('b'))
    assert.deepEqual(await inboxOf(one), [])
  })
})
