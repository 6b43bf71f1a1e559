import { setTimeout as sleep } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import type { WireMessage } from '#test/support/instance-client.ts'
import { type Asked, asking, wasAnswered } from './asked.ts'

/** Where requests go. A server that is restarting has no URL for a moment. */
export interface Target {
  /** One of its addresses, chosen anew for each request. */
  url(): string
  /** Whether requests may fail: a part of it is restarting, or was a moment ago, or its store is starved. */
  disturbed(since: number): boolean
  /** It was given up: nothing will be answered any more. */
  readonly dead: boolean
}

export interface Answered {
  readonly asked: Asked
  readonly body: unknown
}

/** No request but `wait` takes longer, however busy the machine is; a blocked server is detected elsewhere. */
const PATIENCE_MS = 300_000

/** The session API as one client uses it. Answers that must not occur are noted among the problems. */
export class Client {
  readonly #target: Target
  readonly #problems: string[]

  constructor(target: Target, problems: string[]) {
    this.#target = target
    this.#problems = problems
  }

  /** Whether nothing will be answered any more. */
  get dead(): boolean {
    return this.#target.dead
  }

  get(path: string): Promise<Answered> {
    return this.ask('GET', path)
  }

  post(path: string, body?: unknown, asked?: Asked): Promise<Answered> {
    return this.ask('POST', path, body, PATIENCE_MS, asked)
  }

  /**
   * Sends a request once; retries only if nothing accepted the connection. There is no status if it is unknown whether
   * it was carried out.
   */
  async ask(method: string, path: string, body?: unknown, limitMs = PATIENCE_MS, asked = asking()): Promise<Answered> {
    const since = Date.now()
    const json =
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    try {
      const answer = await fetch(`${this.#target.url()}${path}`, {
        method,
        ...json,
        signal: AbortSignal.timeout(limitMs),
      })
      const text = await answer.text()
      if (answer.status < 500) {
        const json = isStream(answer) ? dataOf(text) : text === '' ? undefined : JSON.parse(text)
        wasAnswered(asked, answer.status)
        return { asked, body: json }
      }
      if (answer.status !== 503 || !this.#target.disturbed(since)) {
        this.#problems.push(`${method} ${path} answered ${answer.status}: ${text}`)
      }
    } catch (error) {
      const { name, cause } = error as Error & { cause?: { code?: string } }
      const late = name === 'TimeoutError'
      if (late && limitMs < PATIENCE_MS) return { asked, body: undefined }
      if (late || !this.#target.disturbed(since)) {
        this.#problems.push(
          `${method} ${path} failed after ${Date.now() - since} ms: ${String(error)} ${String(cause ?? '')}`,
        )
      } else if (cause?.code === 'ECONNREFUSED' && !this.#target.dead) {
        await sleep(50)
        return this.ask(method, path, body, limitMs, asked)
      }
    }
    return { asked, body: undefined }
  }

  /** Repeats a request that may be repeated until its fate is known: for two minutes or a little more. */
  async insist(method: string, path: string, body?: unknown, asked = asking()): Promise<Answered> {
    for (;;) {
      const answer = await this.ask(method, path, body, PATIENCE_MS, asked)
      if (asked.status !== undefined) return answer
      if (this.#target.dead || Date.now() - asked.sent > 2 * PATIENCE_MS) {
        this.#problems.push(`${method} ${path} was not answered for ${Date.now() - asked.sent} ms`)
        return answer
      }
      await sleep(50)
    }
  }

  /** Every message of a session, or those that a filter leaves, oldest first, in pages of an odd size. */
  async messages(sessionId: string, filter = ''): Promise<WireMessage[]> {
    const all: WireMessage[] = []
    let query = `order=asc&limit=37${filter}`
    for (;;) {
      const { body } = await this.insist('GET', `/api/session/${sessionId}/message?${query}`)
      const page = body as { data?: WireMessage[]; cursor?: { next?: string } } | undefined
      all.push(...(page?.data ?? []))
      if (page?.cursor?.next === undefined) return all
      query = `limit=37&cursor=${encodeURIComponent(page.cursor.next)}`
    }
  }
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true
}

/** The messages in the frames of a stream that has ended. */
function dataOf(text: string): unknown[] {
  const frames: unknown[] = []
  const parser = createParser({ onEvent: ({ data }) => void frames.push(JSON.parse(data)) })
  parser.feed(text)
  return frames
}
