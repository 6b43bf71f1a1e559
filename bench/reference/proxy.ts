// The minimum cost of chat completions: node:http in, undici out, and the bytes of both directions piped.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'

const upstream = new Pool(process.env.BENCH_UPSTREAM ?? '')

/** With `stream`, which costs half as much as `request` and a pipeline. */
function forward(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const { 'content-length': length = '', 'content-type': type = '' } = request.headers
  const headers = { 'content-type': type, 'content-length': length }
  return upstream.stream(
    { path: request.url ?? '/', method: 'POST', headers, body: request },
    ({ statusCode, headers }) => response.writeHead(statusCode, { 'content-type': String(headers['content-type']) }),
  )
}

const server = createServer((request, response) => void forward(request, response).catch(() => response.destroy()))
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.on('SIGTERM', () => process.exit(0))
