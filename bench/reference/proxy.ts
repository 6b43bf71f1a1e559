// What chat completions cost at the least: node:http in, undici out, and the bytes of both directions piped.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { Pool } from 'undici'

const upstream = new Pool(process.env.BENCH_UPSTREAM ?? '')

async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { 'content-length': length = '', 'content-type': type = '' } = request.headers
  const answer = await upstream.request({
    ...{ path: request.url ?? '/', method: 'POST', headers: { 'content-type': type, 'content-length': length } },
    body: request,
  })
  response.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) })
  await pipeline(answer.body, response)
}

const server = createServer((request, response) => void forward(request, response).catch(() => response.destroy()))
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.on('SIGTERM', () => process.exit(0))
