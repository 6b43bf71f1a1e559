import { fromMessage } from '#gateway/records/message.ts'
import { splitAtPlaces, toBase64 } from '#gateway/records/tool-content.ts'
import type { ExportSessionResponse } from '#gen/portico/session/v1/session_service_pb.js'
import { fromSession } from '../mappers.ts'
import { sanitizeMessage, sanitizeSession } from './sanitize.ts'

/** The text of the answer to an export. At no time more than one message and one piece of content is held. */
export async function* exportText(
  items: AsyncIterable<ExportSessionResponse>,
  sanitized: boolean,
): AsyncGenerator<string> {
  const json = (value: object, sanitize: (value: object) => object): string =>
    JSON.stringify(sanitized ? sanitize(value) : value)
  let opened = false
  let separator = ''
  /** What follows each content that is still to come. */
  let following: string[] = []
  for await (const { item } of items) {
    if (item.case === 'session') {
      opened = true
      yield `{"data":{"info":${json(fromSession(item.value), sanitizeSession)},"messages":[`
    } else if (item.case === 'message') {
      requireAll(following)
      const [first = '', ...rest] = splitAtPlaces(json(fromMessage(item.value), sanitizeMessage))
      following = rest
      yield separator + first
      separator = ','
    } else if (item.case === 'content') {
      yield toBase64(item.value.data)
      if (item.value.last) yield following.shift() ?? ''
    }
  }
  requireAll(following)
  if (!opened) throw new Error('The session service exported no session')
  yield ']}}'
}

function requireAll(following: readonly string[]): void {
  if (following.length > 0) throw new Error('The session service exported a message without the content of its files')
}
