import { once } from 'node:events'
import { request } from 'node:http'
import { responsesRequest } from './cases.ts'
import { median } from './harness/load.ts'
import type { BenchServer } from './harness/server.ts'
import { startServers } from './servers.ts'

/** Milliseconds from a client's hang-up in the middle of a stream until the upstream notices it. */
export interface HangUp {
  readonly median: number
  readonly worst: number
}

const TIMES = 30
const READ_CHUNKS = 5

/** Hangs up on both servers alternately. */
export async function measureHangUp(): Promise<{ readonly reference: HangUp; readonly portico: HangUp }> {
  await using servers = await startServers('gateway')
  const times = { reference: [] as number[], portico: [] as number[] }
  for (let time = 0; time < TIMES; time += 1) {
    for (const side of ['reference', 'portico'] as const) {
      times[side].push(await hangUp(servers[side], servers.upstream))
    }
  }
  const figures = (values: number[]): HangUp => ({ median: median(values), worst: Math.max(...values) })
  return { reference: figures(times.reference), portico: figures(times.portico) }
}

async function hangUp(server: BenchServer, upstream: BenchServer): Promise<number> {
  const { path, headers, body } = responsesRequest({ input: 'slow', stream: true })
  const outgoing = request(`${server.url}${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
  })
  outgoing.end(body)
  const [incoming] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage]
  if (incoming.statusCode !== 200) throw new Error(`${path} answered ${incoming.statusCode}`)
  const deltas = Promise.withResolvers<void>()
  let seen = 0
  incoming.setEncoding('utf8').on('data', (text: string) => {
    seen += text.split('output_text.delta').length + text.split('content_part.delta').length - 2
    if (seen >= READ_CHUNKS) deltas.resolve()
  })
  incoming.on('error', () => {})
  await deltas.promise
  const reported = once(upstream.process, 'message') as Promise<[{ hungUpAt: number }]>
  const hungUpAt = performance.timeOrigin + performance.now()
  outgoing.destroy()
  const [message] = await reported
  return message.hungUpAt - hungUpAt
}
