import type { BenchRequest, LoadClient } from '../harness/load.ts'
import type { Side } from './sides.ts'

/** Precedes the text in every chunk that has one. */
const CONTENT = '"content":" '
/**
 * When the upstream sent a chunk, in milliseconds since the epoch. A gateway may merge several contents into one chunk.
 */
const SENT = /\d{13}\.\d/g

/** How much of a stream is kept, to see how it ended. */
const END_LENGTH = 500

/** Reads a stream to its end, which must be a regular one. */
async function read(client: LoadClient, request: BenchRequest, onText: (text: string) => void): Promise<void> {
  let end = ''
  const status = await client.read(request, (bytes) => {
    const text = bytes.toString('latin1')
    end = (end + text).slice(-END_LENGTH)
    onText(text)
  })
  if (status !== 200 || !end.includes('[DONE]')) throw new Error(`A stream ended with ${status}: ${end}`)
}

/**
 * For each of several streams that start at once, the milliseconds until its first chunk with content; resolves when
 * all have ended.
 */
export function firstChunks(side: Side, client: LoadClient, streams: number, prompt: string): Promise<number[]> {
  return Promise.all(
    Array.from({ length: streams }, async () => {
      let first = Number.NaN
      const sent = performance.now()
      await read(client, side.request(prompt, true), (text) => {
        if (Number.isNaN(first) && text.includes(CONTENT)) first = performance.now() - sent
      })
      return first
    }),
  )
}

/** Streams that start at once and are read to their end. */
interface Streams {
  readonly streams: number
  readonly prompt: string
  /** Of all streams together. */
  readonly chunks: number
  onHalfOfChunks(): void
}

/**
 * Milliseconds from the upstream to the client for each chunk that was sent after all streams had begun, in ascending
 * order.
 */
export async function chunkDelays(
  side: Side,
  client: LoadClient,
  { streams, prompt, chunks, onHalfOfChunks }: Streams,
): Promise<number[]> {
  const delays: number[] = []
  let [begun, came, allBegun] = [0, 0, Number.POSITIVE_INFINITY]
  const one = async (): Promise<void> => {
    let isFirst = true
    await read(client, side.request(prompt, true), (text) => {
      for (const [sent] of text.matchAll(SENT)) {
        const now = performance.timeOrigin + performance.now()
        if (isFirst && ++begun === streams) allBegun = now
        isFirst = false
        if (++came === Math.ceil(chunks / 2)) onHalfOfChunks()
        if (Number(sent) > allBegun) delays.push(now - Number(sent))
      }
    })
  }
  await Promise.all(Array.from({ length: streams }, one))
  return delays.sort((a, b) => a - b)
}
