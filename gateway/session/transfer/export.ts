import { fromMessage } from '#gateway/records/message.ts'
import { ListText } from '#gateway/records/tool-content.ts'
import type { ExportSessionResponse } from '#gen/portico/session/v1/session_service_pb.js'
import { fromSession } from '../mappers.ts'
import { sanitizeMessage, sanitizeSession } from './sanitize.ts'

/** The text of the answer to an export. At no time more than one message and one piece of content is held. */
export async function* exportText(
  items: AsyncIterable<ExportSessionResponse>,
  sanitized: boolean,
): AsyncGenerator<string> {
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
