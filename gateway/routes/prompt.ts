import { timedId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkBody, readJson } from '../body.ts'
import { callOf } from '../call.ts'
import { queryWord, readQuery } from '../query.ts'
import { sendJson, sendNothing } from '../respond.ts'
import { type Facade, type Route, sessionParameter } from '../route.ts'
import { inboxUser } from '../schemas/prompt.ts'
import { promptBody } from '../schemas/session.ts'

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
    const stopped = Promise.withResolvers<never>()
    using _ = lifecycle.onDrain(() => stopped.reject(new Rejection('NOT_READY')))
    const idle = clients.session.waitSession({ sessionId }, callOf(response).options({ timeoutMs: undefined }))
    await Promise.race([idle, stopped.promise])
    sendNothing(response)
  }
}
