import type { StreamSessionContextResponse } from '#gen/portico/session/v1/session_service_pb.js'
import { fromMessage } from '../records/message.ts'
import { ListText } from '../records/tool-content.ts'

/** The text of a response that lists messages. It yields nothing until the first item, or the end, has arrived. */
export async function* contextText(items: AsyncIterable<StreamSessionContextResponse>): AsyncGenerator<string> {
  const list = new ListText()
  let opening = '{"data":['
  for await (const { item } of items) {
    if (item.case === 'message') yield opening + list.item(fromMessage(item.value))
    else if (item.case === 'content') yield list.content(item.value)
    opening = ''
  }
  list.end()
  yield `${opening}]}`
}
