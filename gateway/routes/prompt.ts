import { setTimeout as delay } from 'node:timers/promises'
import { Code, ConnectError } from '@connectrpc/connect'
import { timedId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Call, callOf } from '../call.ts'
import type { Clients } from '../clients.ts'
import { type Facade, type Route, sessionParameter } from '../facade.ts'
import { checkBody, readJson } from '../http/body.ts'
import { queryWord, readQuery } from '../http/query.ts'
import { sendJson, sendNothing } from '../http/respond.ts'
import { inboxUser } from '../schemas/prompt.ts'
import { promptBody } from '../schemas/session.ts'

/** How long one call that waits may take, in milliseconds. */
const WAIT_ROUND_MS = 50_000
/** The pause between two of them: one that ends at once must not be all that happens. */
const WAIT_PAUSE_MS = 50

/** What makes a session run, and stop: prompt, wait, interrupt. */
export function promptRoutes(facade: Facade): Route[] {
  const { clock, config } = facade
  const { session } = facade.clients
  const wait = waitUntilIdle(facade)
  return [
    {
      operation: 'session.prompt',
      method: 'post',
      path: '/api/session/:sessionID/prompt',
      async handle(request, response) {
        const sessionId = sessionParameter(request)
        const body = checkBody(promptBody, await readJson(request, config.promptLimit))
        const skill = body.skills?.[0]
        if (skill !== undefined) {
          throw new Rejection('REQUEST_INVALID', { field: 'skills', problem: `Skill not found: ${skill.id}` })
        }
        const { item } = await session.promptSession(
          {
            sessionId,
            // Minted here, so that a repeated call admits nothing twice (design decision 17).
            messageId: body.id ?? timedId('msg', clock),
            text: body.text,
            files: body.files ?? [],
            agents: body.agents ?? [],
            parked: body.resume === false,
            ...(body.metadata == null ? {} : { metadata: body.metadata }),
            ...(body.delivery == null ? {} : { delivery: body.delivery }),
          },
          callOf(response).options(),
        )
        if (item === undefined) throw new Error('The session service answered without an item')
        sendJson(response, 200, { data: inboxUser(item) })
      },
    },
    {
      operation: 'session.interrupt',
      method: 'post',
      path: '/api/session/:sessionID/interrupt',
      async handle(request, response) {
        const sessionId = sessionParameter(request)
        if (queryWord(readQuery(request), 'resume', ['true', 'false']) === 'true') {
          throw new Rejection('QUERY_INVALID', { field: 'resume', problem: 'Only false is supported' })
        }
        const { interrupted } = await session.interruptSession({ sessionId }, callOf(response).options())
        sendJson(response, 200, { interrupted })
      },
    },
    {
      operation: 'experimental.session.wait',
      method: 'post',
      path: '/api/experimental/session/:sessionID/wait',
      handle: wait,
    },
    // Where clients of 1.x look for it.
    { operation: 'session.wait', method: 'post', path: '/api/session/:sessionID/wait', handle: wait },
  ]
}

/** Answers when the session is idle, however long it takes; with 503 when the server stops before. */
function waitUntilIdle({ clients, lifecycle }: Facade): Route['handle'] {
  return async (request, response) => {
    const sessionId = sessionParameter(request)
    const call = callOf(response)
    const stopped = Promise.withResolvers<never>()
    using _ = lifecycle.onDrain(() => stopped.reject(new Rejection('NOT_READY')))
    try {
      await Promise.race([stopped.promise, waitInRounds(clients.session, sessionId, call)])
      sendNothing(response)
    } finally {
      call.end()
    }
  }
}

/** Between processes every unary call has a deadline: who waits longer asks again. */
async function waitInRounds(session: Clients['session'], sessionId: string, call: Call): Promise<void> {
  for (;;) {
    try {
      await session.waitSession({ sessionId }, call.options({ timeoutMs: WAIT_ROUND_MS }))
      return
    } catch (error) {
      if (!(error instanceof ConnectError && error.code === Code.DeadlineExceeded)) throw error
    }
    await delay(WAIT_PAUSE_MS)
  }
}
