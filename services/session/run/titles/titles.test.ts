import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { PromptSchema, SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import type { Admitter } from '#services/session/domain/inbox.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import type { Inference } from '#services/session/ports/inference.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { silentLogger } from '#test/support/transports.ts'
import { Titles } from './titles.ts'

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Titles whose agent is asked for and answers when the test lets it, by workspace. */
function open() {
  const asked: string[] = []
  const open = new Map<string, (() => void)[]>()
  const getAgent: Catalog['getAgent'] = async ({ principal, requestId, signal }) => {
    asked.push(requestId ?? '')
    const { workspaceId } = principal
    await new Promise<void>((resolve, reject) => {
      open.set(workspaceId, [...(open.get(workspaceId) ?? []), resolve])
      signal.addEventListener('abort', () => reject(signal.reason))
    })
    throw new Rejection('AGENT_NOT_FOUND', {})
  }
  const titles = new Titles({
    catalog: { getAgent } as Partial<Catalog> as Catalog,
    inference: {} as Inference,
    store: {} as SessionStore,
    logger: silentLogger,
  })
  return {
    asked,
    titles,
    find(workspaceId: string, n: number): void {
      const session = create(SessionSchema, { sessionId: 'ses_1', directory: '/' })
      const principal = { workspaceId } as Admitter
      const prompt = create(PromptSchema, { text: 'Hello' })
      titles.find({ id: `${workspaceId} ${n}`, session, principal, prompt })
    },
    async letGo(workspaceId: string): Promise<void> {
      const some = open.get(workspaceId) ?? []
      open.set(workspaceId, [])
      for (const resolve of some) resolve()
      await settle()
    },
  }
}

test('a workspace whose titles take long does not delay those of others', async () => {
  const { asked, titles, find, letGo } = open()
  await using _ = titles
  for (let n = 0; n < 50; n++) find('wrk_slow', n)
  for (const name of ['wrk_a', 'wrk_b', 'wrk_c']) for (let n = 0; n < 4; n++) find(name, n)
  await settle()
  assert.equal(asked.filter((id) => id.startsWith('wrk_slow')).length, 4)
  assert.equal(asked.length, 16)
  // All places are taken; who comes later has the first turn, and not what waited before it of others.
  for (let n = 4; n < 20; n++) find('wrk_a', n)
  find('wrk_late', 0)
  await letGo('wrk_a')
  assert.deepEqual(asked.slice(16), ['wrk_a 4', 'wrk_late 0', 'wrk_a 5', 'wrk_a 6'])
})

test('new titles replace the oldest waiting ones of their workspace when too many wait', async () => {
  const { asked, titles, find, letGo } = open()
  await using _ = titles
  for (let n = 0; n < 1_000; n++) find('wrk_many', n)
  find('wrk_other', 0)
  await settle()
  assert.equal(titles.underWay.size, 105)
  for (let known = 0; known < asked.length; ) {
    known = asked.length
    await letGo('wrk_many')
  }
  const last = Array.from({ length: 100 }, (_, n) => `wrk_many ${900 + n}`)
  assert.deepEqual([...titles.underWay], ['wrk_other 0'])
  assert.deepEqual(asked, ['wrk_many 0', 'wrk_many 1', 'wrk_many 2', 'wrk_many 3', 'wrk_other 0', ...last])
})

test('forgets requests for titles at the end of the process', async () => {
  const { asked, titles, find } = open()
  for (let n = 0; n < 10; n++) find('wrk_a', n)
  await settle()
  await titles[Symbol.asyncDispose]()
  assert.equal(asked.length, 4)
})
