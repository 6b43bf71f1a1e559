import { z } from 'zod'
import { piecesOf, unparsed } from '#gateway/kinds.ts'
import { operation } from '#gateway/operation.ts'
import { sessionParameter } from '#gateway/records/ids.ts'
import { fromMessage } from '#gateway/records/message.ts'
import { ListText } from '#gateway/records/tool-content.ts'
import { mostIn } from '#gateway/shape.ts'
import { AssistantMessageSchema } from '#gen/portico/session/v1/message_pb.js'
import type { ExportSessionResponse } from '#gen/portico/session/v1/session_service_pb.js'
import { fromSession } from '../mappers.ts'
import { sessionInfo } from '../schemas.ts'
import { readImport } from './read-import.ts'
import { sanitizeMessage, sanitizeSession } from './sanitize.ts'
import { exportQuery, importBody, transferData } from './schemas.ts'

/** The text of the answer to an export. At no time more than one message and one piece of content is held. */
async function* exportText(items: AsyncIterable<ExportSessionResponse>, sanitized: boolean): AsyncGenerator<string> {
  const list = new ListText()
  let opened = false
  for await (const { item } of items) {
    if (item.case === 'session') {
      const info = fromSession(item.value)
      opened = true
      yield `{"data":{"info":${JSON.stringify(sanitized ? sanitizeSession(info) : info)},"messages":[`
    } else if (item.case === 'message') {
      const message = fromMessage(item.value)
      yield list.item(sanitized ? sanitizeMessage(message) : message)
    } else if (item.case === 'content') yield list.content(item.value)
  }
  list.end()
  if (!opened) throw new Error('The session service exported no session')
  yield ']}}'
}

export const exportSession = operation({
  id: 'experimental.session.export',
  method: 'get',
  path: '/api/experimental/session/{sessionID}/export',
  summary: 'Exports a session with all its settled messages',
  description:
    'A stored message that cannot be read is an UnknownError; a failure after the first byte ends the connection.',
  params: z.object({ sessionID: sessionParameter }),
  query: exportQuery,
  answer: piecesOf(z.strictObject({ data: transferData })),
  handle({ session }, { params, query, call }) {
    const sanitized = query.sanitize === 'true'
    const request = { sessionId: params.sessionID, withoutContent: sanitized }
    return exportText(session.exportSession(request, call.options()), sanitized)
  },
})

/** A long session takes as long. */
const IMPORT_MS = 600_000

export const importSession = operation({
  id: 'experimental.session.import',
  method: 'post',
  path: '/api/experimental/session/import',
  summary: 'Imports an exported session',
  description:
    'Either all of it is imported, or nothing. Location, project, subpath, fork and revert of `info` are ' +
    `ignored, and so are messages that were not settled. A message has at most 6.5 MiB, not counting its files, and lists of at most ${mostIn(AssistantMessageSchema.field.parts)} items.`,
  body: unparsed(importBody),
  limit: 'importLimit',
  deadlineMs: IMPORT_MS,
  answer: z.strictObject({ data: sessionInfo }),
  errors: [
    ...(['SESSION_EXISTS', 'MESSAGE_EXISTS', 'SESSION_NOT_FOUND', 'REQUEST_INVALID'] as const),
    ...(['LOCATION_INVALID', 'LOCATION_NOT_FOUND', 'LOCATION_FORBIDDEN', 'PEER_UNAVAILABLE'] as const),
  ],
  handle: async ({ session }, { body, call }) =>
    session.importSession(await readImport(body, call.signal), call.options()),
  present: ({ session }) => ({ data: fromSession(session) }),
  publicField: importedField,
})

/** Names in the body for fields that the service may refuse. */
const MEMBERS: Readonly<Record<string, string>> = { cost_nanos: 'cost', 'parts.name': 'content.[].name' }

/** What the body calls a field that the service names. */
function importedField(field: string): string {
  if (field === 'directory') return 'location.directory'
  const [, place, rest = ''] = /^messages\.(\d+)(.*)$/.exec(field) ?? []
  if (place === undefined) return `info.${MEMBERS[field] ?? field}`
  const member = rest
    .replace(/^\.user/, '')
    .replace(/^\.assistant\.parts/, '.content')
    .replace(/\.tool\.content/, '.state.content')
  return `messages.${place}${member.replace(/^\.(.+)/, (_, name: string) => `.${MEMBERS[name] ?? name}`)}`
}
