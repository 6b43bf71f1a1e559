// The reference for the stream of events: a bare server of server-sent events that writes what it gets to all
// listeners.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const listeners = new Set<ServerResponse>()

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' })
    response.write(': connected\n\n')
    listeners.add(response)
    response.on('close', () => listeners.delete(response))
    return
  }
  let body = ''
  request.setEncoding('utf8').on('data', (text: string) => {
    body += text
  })
  request.on('end', () => {
    for (const listener of listeners) listener.write(body)
    response.writeHead(204).end()
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
