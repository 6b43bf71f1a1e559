import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Response } from 'express'
import { callOf } from '../call.ts'
import { drained } from './drained.ts'
import { JSON_HEADERS } from './respond.ts'

/** Text is buffered up to about this many characters before it is written. */
const COLLECTED = 65_536

/**
 * Sends a JSON answer whose text is made piece by piece, as the client takes it. Headers go out with the first text
 * that is written: a failure before that is answered as an ordinary error. A later one cuts the connection off, so that
 * nobody takes what was sent for the whole. A client that hangs up aborts the call.
 */
export async function sendPieces(response: Response, pieces: AsyncIterable<string>): Promise<void> {
  const call = callOf(response)
  const iterator = pieces[Symbol.asyncIterator]()
  try {
    let next = await iterator.next()
    if (response.req.method === 'HEAD') next = { done: true, value: undefined }
    let collected = ''
    for (; next.done !== true; next = await iterator.next()) {
      if (call.over) return
      collected += next.value
      if (collected.length < COLLECTED) continue
      begin(response)
      // A service in this process may have everything ready at once; yield to other work in between.
      if (response.write(collected)) await nextTurn()
      else await drained(response, call)
      collected = ''
    }
    if (call.over) return
    begin(response)
    response.end(collected)
  } finally {
    call.end()
  }
}

function begin(response: Response): void {
  if (!response.headersSent) response.writeHead(200, [...JSON_HEADERS, ...callOf(response).headers])
}
