import assert from 'node:assert/strict'
import test from 'node:test'
import { Rejection } from '#shared/rejection.ts'
import { closingReasons } from '#shared/rpc/server-reasons.ts'
import { connected, gone, openStream, readUntil, selected } from '#test/support/event-stream.ts'
import { openFacade, type Stubs } from '#test/support/facade.ts'
import { forEachTransport } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'

const stands = { message: { case: 'connected', value: {} } } as const

type Change =
  | { readonly case: 'agentsUpdated' | 'skillsUpdated' | 'pluginsUpdated'; readonly value: object }
  | { readonly case: 'mcpServerUpdated' | 'mcpToolsChanged'; readonly value: { readonly server: string } }

const updated = (directory: string, change: Change = { case: 'agentsUpdated', value: {} }) =>
  ({
    message: {
      case: 'event',
      value: {
        eventId: 'evt_c1',
        createTime: 1_700_000_000_250,
        directory,
        event: change,
      },
    },
  }) as const

const session: Stubs['session'] = {
  async *streamEvents(_, context) {
    yield connected
    await gone(context)
  },
}

/** The JSON of each `data:` line. */
const dataOf = (text: string) =>
  text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice('data: '.length))] : []))

forEachTransport((name, connect) => {
  test(`${name}: an event of the catalog is a frame without a position`, async () => {
    const catalog: Stubs['catalog'] = {
      async *streamEvents(_, context) {
        yield stands
        yield updated('/srv/project')
        yield updated('/srv/project', { case: 'mcpServerUpdated', value: { server: 'files' } })
        yield updated('/srv/project', { case: 'mcpToolsChanged', value: { server: 'files' } })
        yield updated('/srv/other', { case: 'skillsUpdated', value: {} })
        yield updated('/srv/third', { case: 'pluginsUpdated', value: {} })
        await gone(context)
      },
    }
    await using facade = await openFacade({ session, catalog }, {}, connect)
    const stream = await openStream(`${facade.url}/api/event`)
    const text = await readUntil(stream, (text) => text.includes('/srv/third'))
    const common = { id: 'evt_c1', created: 1_700_000_000_250, data: {} }
    assert.deepEqual(dataOf(text).slice(1), [
      { ...common, type: 'agent.updated', location: { directory: '/srv/project' } },
      ...['mcp.updated', 'mcp.tools.changed'].map((type) => {
        return { ...common, type, location: { directory: '/srv/project' }, data: { server: 'files' } }
      }),
      { ...common, type: 'skill.updated', location: { directory: '/srv/other' } },
      { ...common, type: 'plugin.updated', location: { directory: '/srv/third' } },
    ])
    assert.equal(text.split('id: ').length, 2, 'only server.connected has a position')
    stream.destroy()
  })

  test(`${name}: an outage of the catalog does not end the stream, and the client gets a resync`, async () => {
    let opened = 0
    const events = Promise.withResolvers<void>()
    const stubs: Stubs = {
      reasons: closingReasons,
      session: {
        async *streamEvents(_, context) {
          yield connected
          await events.promise
          yield selected(7)
          await gone(context)
        },
      },
      catalog: {
        async *streamEvents(_, context) {
          yield stands
          if (++opened === 1) throw new Rejection('SERVICE_CLOSING')
          await gone(context)
        },
      },
    }
    await using facade = await openFacade(stubs, {}, connect)
    const stream = await openStream(`${facade.url}/api/event`)
    await readUntil(stream, (text) => text.includes('server.connected'))
    events.resolve()
    const text = await readUntil(stream, (text) => text.includes('server.resync'))
    assert.ok(text.includes('evt_7'), 'the session service goes on meanwhile')
    assert.equal(facade.log.filter(({ level }) => Number(level) >= 50).length, 0)
    stream.destroy()
  })

  test(`${name}: a client that hangs up ends the stream of the catalog too`, async () => {
    let open = 0
    const catalog: Stubs['catalog'] = {
      async *streamEvents(_, context) {
        open++
        context.signal.addEventListener('abort', () => open--)
        yield stands
        await gone(context)
      },
    }
    await using facade = await openFacade({ session, catalog }, {}, connect)
    const stream = await openStream(`${facade.url}/api/event`)
    await readUntil(stream, (text) => text.includes('server.connected'))
    assert.equal(open, 1)
    stream.destroy()
    await waitFor('the RPC ends', () => open === 0)
  })
})
