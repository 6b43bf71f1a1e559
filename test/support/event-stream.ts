import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { HandlerContext } from '@connectrpc/connect'

/** The first message of a stream. */
export const connected = { message: { case: 'connected', value: { position: '6' } } } as const

/** A durable event, as the session service would stream it. */
export const selected = (seq: number, agent = 'plan') =>
  ({
    message: {
      case: 'event',
      value: {
        eventId: `evt_${seq}`,
        createTime: 1_700_000_000_250,
        sessionId: 'ses_1',
        directory: '/srv/project',
        seq,
        position: String(seq),
        event: { case: 'agentSelected', value: { agent } },
      },
    },
  }) as const

/** Resolves when the caller of an RPC is gone. */
export const gone = (context: HandlerContext): Promise<unknown> =>
  context.signal.aborted ? Promise.resolve() : once(context.signal, 'abort')

/** Opens the stream; returns the response once its headers have arrived. */
export function openStream(url: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, resolve).on('error', reject).end()
  })
}

/** Reads until the text so far passes the test, or the stream ends. */
export async function readUntil(stream: IncomingMessage, enough: (text: string) => boolean): Promise<string> {
  let text = ''
  stream.setEncoding('utf8')
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (enough(text)) break
  }
  return text
}
