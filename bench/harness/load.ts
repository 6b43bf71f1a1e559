import { performance } from 'node:perf_hooks'
import { Pool } from 'undici'

/** One request of a case. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Answer {
  readonly status: number
  readonly text: string
}

/** The result of a bounded load. */
export interface LoadResult {
  /** Median time of a request, in milliseconds. */
  readonly p50: number
  readonly requestsPerSecond: number
}

/** Keep-alive connections to one server. */
export class LoadClient implements AsyncDisposable {
  readonly #pool: Pool

  constructor(url: string, connections: number) {
    this.#pool = new Pool(url, { connections, pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 })
  }

  /** Sends one request and reads its whole response. */
  async send(request: BenchRequest): Promise<Answer> {
    const chunks: Buffer[] = []
    const status = await this.read(request, (chunk) => chunks.push(chunk))
    return { status, text: Buffer.concat(chunks).toString() }
  }

  /** Sends one request, passes on its response as it arrives, and resolves to its status at the end. */
  read({ method, path, headers = {}, body }: BenchRequest, onData: (chunk: Buffer) => void): Promise<number> {
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    return new Promise((resolve, reject) => {
      let status = 0
      this.#pool.dispatch(
        { method, path, headers: { ...json, ...headers }, ...(body === undefined ? {} : { body }) },
        {
          onRequestStart: () => {},
          onResponseStart: (_, statusCode) => {
            status = statusCode
          },
          onResponseData: (_, chunk) => onData(chunk),
          onResponseEnd: () => resolve(status),
          onResponseError: (_, error) => reject(error),
        },
      )
    })
  }

  /** Sends a number of requests with a given concurrency; a response other than 200 or 201 ends the run. */
  async load(requests: number, concurrency: number, next: () => BenchRequest): Promise<LoadResult> {
    const times: number[] = []
    let left = requests
    const begun = performance.now()
    const worker = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        const request = next()
        const sent = performance.now()
        const { status, text } = await this.send(request)
        times.push(performance.now() - sent)
        if (status !== 200 && status !== 201) throw new Error(`${request.path} answered ${status}: ${text}`)
      }
    }
    await Promise.all(Array.from({ length: concurrency }, worker))
    const seconds = (performance.now() - begun) / 1_000
    return { p50: median(times), requestsPerSecond: requests / seconds }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy()
  }
}

/** The middle value; for an even number of values, the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}
