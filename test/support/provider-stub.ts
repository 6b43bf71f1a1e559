import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'

/** A request as the stub got it. */
export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

/** A provider's HTTP server on the loopback. */
export interface ProviderStub extends AsyncDisposable {
  readonly url: string
  readonly seen: SeenRequest[]
  /** Resolves when a client has closed its connection before the end of the answer. */
  readonly hungUp: Promise<void>
  /** How many clients did. */
  readonly hangUps: number
  /** Connections that are open now. */
  readonly connections: number
}

/** Starts a server that answers every request with `answer`. */
export async function startStub(answer: (response: ServerResponse) => unknown): Promise<ProviderStub> {
  const seen: SeenRequest[] = []
  let hangUps = 0
  let connections = 0
  const hungUp = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    response.on('close', () => {
      if (response.writableFinished) return
      hangUps++
      hungUp.resolve()
    })
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url: path = '', headers } = request
    seen.push({ method, path, headers, body: JSON.parse(Buffer.concat(chunks).toString()) })
    await answer(response)
  })
  server.on('connection', (socket) => {
    connections++
    socket.once('close', () => connections--)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    hungUp: hungUp.promise,
    get hangUps() {
      return hangUps
    },
    get connections() {
      return connections
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The text of a file in test/fixtures/providers. */
export function fixture(name: string): string {
  return readFileSync(fileURLToPath(new URL(`../fixtures/providers/${name}`, import.meta.url)), 'utf8')
}

/** Answers with an event stream, sent whole. */
export function streams(text: string | Buffer): (response: ServerResponse) => void {
  return (response) => response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).end(text)
}

/** Answers with a status and a JSON body. */
export function answers(status: number, body: unknown, headers: Record<string, string> = {}) {
  return (response: ServerResponse): void => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
  }
}
