import { StringDecoder } from 'node:string_decoder'
import { createParser } from 'eventsource-parser'
import { unavailable } from './provider-errors.ts'
import type { ResponseReader } from './response-reader.ts'

const MAX_EVENT_CHARACTERS = 32 * 1024 * 1024

/** Reads server-sent events. All events that one read from the network completes come together. */
export class SseReader {
  readonly #reader: ResponseReader
  readonly #decoder = new StringDecoder('utf8')
  readonly #parser
  #data: string[] = []
  #ended = false

  constructor(reader: ResponseReader, providerId: string) {
    this.#reader = reader
    this.#parser = createParser({
      maxBufferSize: MAX_EVENT_CHARACTERS,
      onEvent: (event) => {
        this.#data.push(event.data)
      },
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw unavailable(providerId, 'An event is too long')
      },
    })
  }

  /** The data of the next events, at least one; undefined at the end. An event that the end cut short counts as one. */
  next(): Promise<readonly string[] | undefined> {
    return this.#ended ? Promise.resolve(undefined) : this.#reader.read().then(this.#parse)
  }

  /** Parses what was read, and reads on until an event is complete. */
  readonly #parse = (chunks: readonly Buffer[] | undefined) => {
    this.#feed(chunks)
    return this.#data.length > 0 ? this.#take() : this.#readOn()
  }

  async #readOn(): Promise<readonly string[] | undefined> {
    while (!this.#ended && this.#data.length === 0) this.#feed(await this.#reader.read())
    return this.#data.length > 0 ? this.#take() : undefined
  }

  #feed(chunks: readonly Buffer[] | undefined): void {
    if (chunks === undefined) {
      this.#ended = true
      this.#parser.feed(`${this.#decoder.end()}\n\n`)
    } else {
      for (const chunk of chunks) this.#parser.feed(this.#decoder.write(chunk))
    }
  }

  #take(): readonly string[] {
    const data = this.#data
    this.#data = []
    return data
  }
}
