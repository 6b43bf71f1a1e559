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
  async next(): Promise<readonly string[] | undefined> {
    while (!this.#ended) {
      const chunks = await this.#reader.read()
      if (chunks === undefined) {
        this.#ended = true
        this.#parser.feed(`${this.#decoder.end()}\n\n`)
      } else {
        for (const chunk of chunks) this.#parser.feed(this.#decoder.write(chunk))
      }
      if (this.#data.length > 0) {
        const data = this.#data
        this.#data = []
        return data
      }
    }
    return undefined
  }
}
