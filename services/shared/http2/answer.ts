import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { UniversalServerResponse } from '@connectrpc/connect/protocol'

/**
 * Sends a response at the pace of its reader: the next piece is pulled once the previous one found room. If the stream
 * closes early, the remaining pieces are dropped, and their source is notified.
 */
export async function sendAnswer(stream: ServerHttp2Stream, answer: UniversalServerResponse): Promise<void> {
  const pieces = answer.body?.[Symbol.asyncIterator]()
  try {
    // The handler may set headers until its first piece is available, and trailers until its last.
    let piece = await pieces?.next()
    if (stream.destroyed) return
    respond(stream, answer)
    while (piece !== undefined && piece.done !== true) {
      if (stream.destroyed) return
      if (!stream.write(piece.value)) await room(stream)
      piece = await pieces?.next()
    }
    // With trailers, the response is complete when they are sent, not before.
    stream.end(() => {
      if (answer.trailer === undefined) refuseRest(stream)
    })
  } finally {
    // Not awaited: a handler may take its time to stop.
    void pieces?.return?.()?.catch(() => {})
  }
}

function respond(stream: ServerHttp2Stream, { status, header, trailer }: UniversalServerResponse): void {
  const head = { ':status': status, ...(header && entriesOf(header)) }
  if (trailer === undefined) {
    stream.respond(head)
    return
  }
  stream.respond(head, { waitForTrailers: true })
  stream.once('wantTrailers', () => {
    stream.sendTrailers(entriesOf(trailer))
    // A reset in the same turn would overtake them.
    setImmediate(() => refuseRest(stream))
  })
}

/** Notifies a caller that is still sending that nobody reads any more. */
function refuseRest(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded && !stream.destroyed) stream.close(constants.NGHTTP2_NO_ERROR)
}

function entriesOf(headers: Headers): OutgoingHttpHeaders {
  return Object.fromEntries(headers)
}

function room(stream: ServerHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done)
      stream.off('close', done)
      resolve()
    }
    stream.on('drain', done)
    stream.on('close', done)
  })
}
