import { z } from 'zod'
import { OF_SESSIONS } from '#gateway/credentials.ts'
import { piecesOf } from '#gateway/kinds.ts'
import { operation } from '#gateway/operation.ts'
import { sessionParameter } from '#gateway/records/ids.ts'
import { mostIn } from '#gateway/shape.ts'
import { AssistantMessageSchema } from '#gen/portico/session/v1/message_pb.js'
import { fromSession } from '../mappers.ts'
import { sessionInfo } from '../schemas.ts'
import { exportText } from './export.ts'
import { importSession as importParts } from './import.ts'
import { exportQuery, importBody, transferData } from './schemas.ts'

export const exportSession = operation({
  id: 'experimental.session.export',
  method: 'get',
  path: '/api/experimental/session/{sessionID}/export',
  family: 'instance',
  credentials: OF_SESSIONS,
  summary: 'Exports a session with all its settled messages',
  description:
    'A stored message that cannot be read is an UnknownError; a failure after the first byte ends the connection.',
  params: z.object({ sessionID: sessionParameter }),
  query: exportQuery,
  answer: piecesOf(z.strictObject({ data: transferData })),
  errors: ['SESSION_NOT_FOUND'],
  handle({ session }, { params, query, call }) {
    const sanitized = query.sanitize === 'true'
    const request = { sessionId: params.sessionID, withoutContent: sanitized }
    return exportText(session.exportSession(request, call.options()), sanitized)
  },
})

export const importSession = operation({
  id: 'experimental.session.import',
  method: 'post',
  path: '/api/experimental/session/import',
  family: 'instance',
  credentials: OF_SESSIONS,
  summary: 'Imports an exported session',
  description:
    '`info` must precede `messages`, since a body is read as it arrives. Either all of it is imported, or nothing. Location, project, subpath, fork and revert of `info` are ' +
    `ignored, and so are messages that were not settled. A message has at most 6.5 MiB, not counting its files, and lists of at most ${mostIn(AssistantMessageSchema.field.parts)} items.`,
  body: importBody,
  limit: 'importLimit',
  answer: z.strictObject({ data: sessionInfo }),
  errors: [
    ...(['SESSION_EXISTS', 'MESSAGE_EXISTS', 'SESSION_NOT_FOUND', 'REQUEST_INVALID'] as const),
    ...(['LOCATION_INVALID', 'LOCATION_NOT_FOUND', 'LOCATION_FORBIDDEN', 'PEER_UNAVAILABLE'] as const),
  ],
  handle: ({ session }, { body, call }) => importParts(session, body, call),
  present: ({ session }) => ({ data: fromSession(session) }),
})
