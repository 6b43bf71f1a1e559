import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { Json } from '#test/support/responses.ts'

/** What a request can be sent to: a facade, or the whole product. */
export interface Server {
  fetch(path: string, init?: RequestInit): Promise<Response>
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const messages = [{ role: 'user', content: 'Hello' }]
/** The shortest request in each dialect, by its path below `/api/v1`, without its model. */
export const DIALECTS: Readonly<Record<string, object>> = {
  responses: { input: 'Hello' },
  'chat/completions': { messages },
  messages: { messages, max_tokens: 9 },
}

/** How a request is sent. */
export interface Sending {
  /** The key, or the access token. */
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** An answer as far as most tests are interested in it; `json` is undefined if its body is empty. */
export interface Answer<T = Json> {
  readonly status: number
  readonly json: T
}

/** Sends a request with a body as JSON, or with a text as it is. */
export function send(
  server: Server,
  method: Method,
  path: string,
  body?: unknown,
  { key, headers, signal }: Sending = {},
): Promise<Response> {
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return server.fetch(path, { method, headers: { ...authorization, ...type, ...headers }, body: text, signal })
}

/** Sends a request, and reads its answer as JSON. */
export async function call<T = Json>(
  server: Server,
  method: Method,
  path: string,
  body?: unknown,
  sending?: Sending,
): Promise<Answer<T>> {
  const answer = await send(server, method, path, body, sending)
  const text = await answer.text()
  return { status: answer.status, json: (text === '' ? undefined : JSON.parse(text)) as T }
}

/** Posts JSON, and returns the answer as soon as its headers have arrived, unread. */
export async function sendUnread(
  { url }: { readonly url: string },
  path: string,
  body: object,
  { key, headers }: Omit<Sending, 'signal'>,
): Promise<IncomingMessage> {
  const all = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers }
  const outgoing = request(`${url}${path}`, { method: 'POST', headers: all })
  outgoing.end(JSON.stringify(body))
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  return answer
}
