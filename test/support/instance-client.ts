import assert from 'node:assert/strict'

/** What the end-to-end tests read of a message. */
export interface WireMessage {
  readonly id: string
  readonly type: string
  readonly text?: string
  readonly outcome?: string
  readonly status?: string
  readonly reason?: string
  readonly finish?: string
  readonly summary?: string
  readonly error?: { readonly type: string; readonly message: string }
  readonly time: { readonly created: number; readonly streamed?: number; readonly completed?: number }
  readonly content?: readonly WirePart[]
  readonly files?: readonly { readonly data?: string }[]
}

/** What the end-to-end tests read of a part of an assistant message. */
export interface WirePart {
  readonly type: string
  readonly text?: string
  readonly id?: string
  readonly name?: string
  readonly state?: {
    readonly status: string
    readonly input?: Readonly<Record<string, unknown>>
    readonly content?: readonly { readonly type: string; readonly text?: string }[]
    readonly error?: { readonly type: string; readonly message: string }
    readonly metadata?: Readonly<Record<string, unknown>>
  }
}

/** The few calls of the instance API that the end-to-end tests need; every answer but a 2xx fails the test. */
export class InstanceClient {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>

  /** `headers` are sent with each call. */
  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url
    this.#headers = headers
  }

  async createSession(body: Record<string, unknown> = {}): Promise<string> {
    return ((await this.post('/api/session', body)) as { data: { id: string } }).data.id
  }

  async prompt(sessionId: string, body: Record<string, unknown>): Promise<{ id: string }> {
    return ((await this.post(`/api/session/${sessionId}/prompt`, body)) as { data: { id: string } }).data
  }

  async wait(sessionId: string): Promise<void> {
    await this.post(`/api/experimental/session/${sessionId}/wait`, undefined)
  }

  /** Every message of a session, oldest first. */
  async messages(sessionId: string): Promise<WireMessage[]> {
    const all: WireMessage[] = []
    let query = 'order=asc&limit=200'
    for (;;) {
      const page = (await this.get(`/api/session/${sessionId}/message?${query}`)) as {
        data: WireMessage[]
        cursor: { next?: string }
      }
      all.push(...page.data)
      if (page.cursor.next === undefined) return all
      query = `limit=200&cursor=${encodeURIComponent(page.cursor.next)}`
    }
  }

  /** Ids of the sessions below one. */
  async children(sessionId: string): Promise<string[]> {
    const ids: string[] = []
    for (let query: string | undefined = `parentID=${sessionId}&limit=200`; query !== undefined; ) {
      const page = (await this.get(`/api/session?${query}`)) as { data: { id: string }[]; cursor: { next?: string } }
      ids.push(...page.data.map(({ id }) => id))
      query = page.cursor.next === undefined ? undefined : `limit=200&cursor=${encodeURIComponent(page.cursor.next)}`
    }
    return ids
  }

  get(path: string): Promise<unknown> {
    return this.#call(path, {})
  }

  post(path: string, body: unknown): Promise<unknown> {
    const json =
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    return this.#call(path, { method: 'POST', ...json })
  }

  async #call(path: string, init: RequestInit & { headers?: Record<string, string> }): Promise<unknown> {
    const answer = await fetch(this.#url + path, { ...init, headers: { ...this.#headers, ...init.headers } })
    const text = await answer.text()
    assert.ok(answer.ok, `${init.method ?? 'GET'} ${path} answered ${answer.status}: ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
}
