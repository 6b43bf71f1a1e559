import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { type Connect, connectLocal, forEachTransport } from '#test/support/transports.ts'

async function withSessions(connect: Connect, count: number): Promise<SessionRpc> {
  const service = await openSessionRpc(connect)
  for (let index = 0; index < count; index++) {
    service.clock.time += 1
    const directory = index % 2 === 0 ? '/even' : '/odd'
    await service.client.createSession({ sessionId: `ses_${index}`, title: `Title ${index}`, directory }, service.as())
  }
  return service
}

forEachTransport((name, connect) => {
  test(`pages follow each other both ways, newest first, and end (${name})`, async () => {
    await using service = await withSessions(connect, 5)
    const list = (pageToken?: string, pageSize = 2) =>
      service.client.listSessions({ pageSize, pageToken }, service.as())
    const ids = (page: { sessions: { sessionId: string }[] }) => page.sessions.map(({ sessionId }) => sessionId)
    const first = await list()
    assert.deepEqual(ids(first), ['ses_4', 'ses_3'])
    assert.equal(first.previousPageToken, undefined)
    const second = await list(first.nextPageToken)
    assert.deepEqual(ids(second), ['ses_2', 'ses_1'])
    const third = await list(second.nextPageToken)
    assert.deepEqual(ids(third), ['ses_0'])
    assert.equal(third.nextPageToken, undefined)
    const back = await list(third.previousPageToken)
    assert.deepEqual(ids(back), ['ses_2', 'ses_1'])
    const start = await list(back.previousPageToken)
    assert.deepEqual(ids(start), ['ses_4', 'ses_3'])
    assert.equal(start.previousPageToken, undefined)
    assert.notEqual(start.nextPageToken, undefined)
  })

  test(`a token carries order and filter, whatever is sent with it (${name})`, async () => {
    await using service = await withSessions(connect, 6)
    const order = Order.ASCENDING
    const first = await service.client.listSessions({ pageSize: 1, order, directory: '/odd' }, service.as())
    const beside = { pageToken: first.nextPageToken, directory: '/even', order: Order.DESCENDING }
    const rest = await service.client.listSessions(beside, service.as())
    assert.deepEqual(
      [...first.sessions, ...rest.sessions].map(({ sessionId }) => sessionId),
      ['ses_1', 'ses_3', 'ses_5'],
    )
  })

  test(`filters are exact, a search ignores case, and roots have no parent (${name})`, async () => {
    await using service = await withSessions(connect, 3)
    const count = async (request: object) => (await service.client.listSessions(request, service.as())).sessions.length
    assert.equal(await count({ search: 'tITLE 1' }), 1)
    assert.equal(await count({ search: '%' }), 0)
    assert.equal(await count({ directory: '/eve' }), 0)
    assert.equal(await count({ projectId: 'global', subpath: '' }), 3)
    assert.equal(await count({ rootsOnly: true }), 3)
    assert.equal(await count({ parentId: 'ses_0' }), 0)
  })

  test(`a session is found by anything it may be created with, and the token of that list is accepted (${name})`, async () => {
    await using service = await withSessions(connect, 0)
    const title = '\u{1F600}'.repeat(2_048)
    const directory = `/${'é'.repeat(4_095)}`
    for (const sessionId of ['ses_a', 'ses_b', 'ses_c']) {
      await service.client.createSession({ sessionId, title, directory }, service.as())
    }
    const seen: string[] = []
    let pageToken: string | undefined
    do {
      const page = await service.client.listSessions({ search: title, directory, pageSize: 1, pageToken }, service.as())
      seen.push(...page.sessions.map(({ sessionId }) => sessionId))
      pageToken = page.nextPageToken
    } while (pageToken !== undefined)
    assert.deepEqual(seen.toSorted(), ['ses_a', 'ses_b', 'ses_c'])
  })

  test(`an ascending list ends, while sessions are prompted, where it ended at its first page (${name})`, async () => {
    await using service = await withSessions(connect, 6)
    const order = Order.ASCENDING
    const seen: string[] = []
    let pageToken: string | undefined
    do {
      const page = await service.client.listSessions({ pageSize: 2, order, pageToken }, service.as())
      seen.push(...page.sessions.map(({ sessionId }) => sessionId))
      pageToken = page.nextPageToken
      service.clock.time += 1
      const prompt = { sessionId: 'ses_1', messageId: `msg_${seen.length}`, text: 'again', parked: true }
      await service.client.promptSession(prompt, service.as())
      await service.client.createSession({ sessionId: `ses_new_${seen.length}`, directory: '/even' }, service.as())
    } while (pageToken !== undefined)
    assert.deepEqual(seen, ['ses_0', 'ses_1', 'ses_2', 'ses_3', 'ses_4', 'ses_5'])
  })

  test(`a token of another workspace, a changed one and bad arguments are refused (${name})`, async () => {
    await using service = await withSessions(connect, 3)
    const { nextPageToken } = await service.client.listSessions({ pageSize: 1 }, service.as())
    for (const pageToken of [`${nextPageToken}A`, 'not a token', nextPageToken?.slice(1)]) {
      assert.equal((await refusalOf(service.client.listSessions({ pageToken }, service.as()))).reason, 'INVALID_CURSOR')
    }
    const foreign = service.client.listSessions({ pageToken: nextPageToken }, service.as('wrk_2'))
    assert.equal((await refusalOf(foreign)).reason, 'INVALID_CURSOR')
    for (const [request, field] of [
      [{ pageSize: -1 }, 'page_size'],
      [{ pageSize: 0 }, 'page_size'],
      [{ rootsOnly: true, parentId: 'ses_1' }, 'roots_only'],
      [{ order: 9 as Order }, 'order'],
      [{ subpath: 'a' }, 'subpath'],
      [{ search: 'x'.repeat(4_097) }, 'search'],
    ] as const) {
      const { reason, metadata } = await refusalOf(service.client.listSessions(request, service.as()))
      assert.deepEqual([reason, metadata.field], ['REQUEST_INVALID', field])
    }
  })
})

test('a session that cannot be read is left out of its page, which others follow, and is logged once', async () => {
  await using service = await withSessions(connectLocal, 5)
  const { store } = service
  const list = store.listSessions.bind(store)
  store.listSessions = async function* (...query) {
    for await (const batch of list(...query)) {
      yield batch.map((item) => {
        return ['ses_3', 'ses_1'].includes(item.sessionId)
          ? { ...item, unreadable: new SyntaxError(`In ${item.sessionId}`) }
          : item
      })
    }
  }
  for (let time = 0; time < 2; time++) {
    const pages: string[][] = []
    for (let pageToken: string | undefined, more = true; more; more = pageToken !== undefined) {
      const page = await service.client.listSessions({ pageSize: 2, pageToken }, service.as())
      pages.push(page.sessions.map(({ sessionId }) => sessionId))
      pageToken = page.nextPageToken
    }
    assert.deepEqual(pages, [['ses_4'], ['ses_2'], ['ses_0']])
  }
  assert.deepEqual(
    service.warnings.map(({ sessionId, workspaceId }) => [sessionId, workspaceId]),
    [
      ['ses_3', 'wrk_1'],
      ['ses_1', 'wrk_1'],
    ],
  )
})

test('a list leaves out a session that cannot be read', async () => {
  await using service = await withSessions(connectLocal, 3)
  const { store } = service
  const list = store.listSessions.bind(store)
  store.listSessions = async function* (...query) {
    for await (const batch of list(...query)) {
      const unreadable = new Error('Damaged')
      yield batch.map((item) => (item.sessionId === 'ses_1' ? { ...item, unreadable } : item))
    }
  }
  const { sessions } = await service.client.listSessions({}, service.as())
  assert.deepEqual(
    sessions.map(({ sessionId }) => sessionId),
    ['ses_2', 'ses_0'],
  )
})
