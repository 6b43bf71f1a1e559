import { z } from 'zod'
import { ListInboxItemsResponseSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { timedId } from '#shared/ids.ts'
import { noContent } from '../kinds.ts'
import { operation } from '../operation.ts'
import { sessionParameter } from '../records/ids.ts'
import { inboxUser } from '../records/inbox-item.ts'
import { mostIn } from '../shape.ts'
import { fromPromptItem, toPromptSession } from './mappers.ts'
import { promptBody } from './schemas.ts'
import { WAIT_ROUND_MS, waitUntilIdle } from './wait.ts'

const params = z.object({ sessionID: sessionParameter })

export const promptSession = operation({
  id: 'session.prompt',
  method: 'post',
  path: '/api/session/{sessionID}/prompt',
  summary: 'Admits one input and starts a run, unless `resume` is false',
  description:
    'A response means that the input is durable. With an id that was sent before, returns the input that it admitted, unless ' +
    `that was cancelled. At most ${mostIn(ListInboxItemsResponseSchema.field.items)} items wait in a session.`,
  params,
  body: promptBody,
  limit: 'promptLimit',
  answer: z.strictObject({ data: inboxUser }),
  errors: [
    'PROMPT_CONFLICT',
    'INBOX_ITEM_CANCELLED',
    'INBOX_FULL',
    'ATTACHMENT_INVALID',
    'REQUEST_INVALID',
    'PEER_UNAVAILABLE',
  ],
  handle: ({ session }, { params, body, call, facade: { clock } }) =>
    session.promptSession(
      toPromptSession(params.sessionID, body, () => timedId('msg', clock)),
      call.options(),
    ),
  present: ({ item }) => ({ data: fromPromptItem(item) }),
  publicField: (field, { body }) => (body.prompt == null ? field : `prompt.${field}`),
})

export const interruptSession = operation({
  id: 'session.interrupt',
  method: 'post',
  path: '/api/session/{sessionID}/interrupt',
  summary: 'Ends the current run of the session',
  params,
  query: z.object({
    resume: z.enum(['true', 'false']).optional().meta({
      description: 'Whether waiting steers, and a move that is next, have their turn afterwards; default: false',
    }),
  }),
  answer: z.strictObject({ interrupted: z.boolean().meta({ description: 'Whether anything was running' }) }),
  handle: ({ session }, { params, query, call }) =>
    session.interruptSession({ sessionId: params.sessionID, resume: query.resume === 'true' }, call.options()),
  present: ({ interrupted }) => ({ interrupted }),
})

export const resumeSession = operation({
  id: 'session.resume',
  method: 'post',
  path: '/api/session/{sessionID}/resume',
  summary: 'Runs the session without an input, and waits until it is idle',
  description:
    'Parked inputs run, and a run that was interrupted or has failed continues. If the client hangs up, the run goes on.',
  params,
  deadlineMs: WAIT_ROUND_MS,
  answer: noContent,
  handle: async ({ session }, { params, call, facade }) => {
    await session.resumeSession({ sessionId: params.sessionID }, call.options())
    return waitUntilIdle(session, params.sessionID, call, facade.lifecycle)
  },
})

export const waitForSession = waitOperation(
  'experimental.session.wait',
  '/api/experimental/session/{sessionID}/wait',
  'Waits until the session is idle, however long it takes',
)

export const waitForSessionOf1x = waitOperation(
  'session.wait',
  '/api/session/{sessionID}/wait',
  'experimental.session.wait, at the path that clients of 1.x use',
)

function waitOperation(id: string, path: `/${string}{sessionID}/wait`, summary: string) {
  return operation({
    id,
    method: 'post',
    path,
    summary,
    params,
    deadlineMs: WAIT_ROUND_MS,
    answer: noContent,
    handle: ({ session }, { params, call, facade }) => waitUntilIdle(session, params.sessionID, call, facade.lifecycle),
  })
}
