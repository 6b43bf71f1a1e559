import type { ResponsesDialect } from './dialect.ts'

/** The unchanging beginnings of the events that tell one kind of growth of one item. */
export interface DeltaPrefix {
  /** Event of OpenAI's schema; empty in the specification's dialect. */
  readonly schema: string
  /** Event of the specification; empty where it has none. */
  readonly specification: string
}

type Members = Readonly<Record<string, unknown>>

const NO_EVENT: DeltaPrefix = { schema: '', specification: '' }
const NUMBER = ',"sequence_number":'
const END = '}\n\n'

/** Writes the events of one stream as text, in one dialect, and numbers them. */
export class ResponsesFrames {
  readonly #named: boolean
  readonly #schema: boolean
  readonly #specification: boolean
  #sequence = 0
  #text = ''

  constructor(dialect: ResponsesDialect) {
    this.#named = dialect === 'openai'
    this.#schema = dialect !== 'specification'
    this.#specification = dialect !== 'openai'
  }

  /** What was written since the last call. */
  take(): string {
    const text = this.#text
    this.#text = ''
    return text
  }

  /** The first events: a response is there, and in OpenAI's schema that it is in progress. */
  begin(response: Members, specified: Members): void {
    if (this.#schema) {
      const json = JSON.stringify(response)
      this.#response('response.created', json)
      this.#response('response.in_progress', json)
    } else this.#write('response.created', { response: specified })
  }

  /** An event that only OpenAI's schema has. */
  schema(type: string, members: Members): void {
    if (this.#schema) this.#write(type, members)
  }

  /** An event that both have; `more` are the members that only OpenAI's schema wants. */
  shared(type: string, members: Members, more: Members = {}): void {
    this.#write(type, this.#schema ? { ...members, ...more } : members)
  }

  /** The beginnings of delta events. The specification has one for text, with the members given apart. */
  prefix(type: string, members: Members, specification?: Members): DeltaPrefix {
    if (!this.#schema && specification === undefined) return NO_EVENT
    return {
      schema: this.#schema ? this.#open(type, members) : '',
      specification:
        this.#specification && specification !== undefined
          ? this.#open('response.content_part.delta', specification)
          : '',
    }
  }

  /** An item grew. This runs for each word of each stream, so nothing but the word is encoded. */
  delta({ schema, specification }: DeltaPrefix, text: string): void {
    const delta = JSON.stringify(text)
    if (schema !== '') this.#text += schema + delta + NUMBER + this.#sequence++ + END
    if (specification !== '')
      this.#text += specification + delta + (this.#schema ? NUMBER + this.#sequence++ : '') + END
  }

  /** The last events: how it ended in OpenAI's schema, how it ended in the specification, and that it has ended. */
  end(type: string, response: Members, specified: Members): void {
    if (this.#schema) {
      // Both tell the same object, which is longer than the whole answer: it is encoded once.
      const json = JSON.stringify(response)
      this.#response(type, json)
      if (this.#specification) this.#response('response.done', json)
    } else this.#write('response.done', { response: specified })
    this.#text += 'data: [DONE]\n\n'
  }

  #response(type: string, json: string): void {
    this.#text += `${this.#opened(type)}"response":${json}${NUMBER}${this.#sequence++}${END}`
  }

  #write(type: string, members: Members): void {
    const numbered = this.#schema ? { type, ...members, sequence_number: this.#sequence++ } : { type, ...members }
    this.#text += `${this.#line(type)}data: ${JSON.stringify(numbered)}\n\n`
  }

  #open(type: string, members: Members): string {
    return `${this.#opened(type)}${JSON.stringify(members).slice(1, -1)},"delta":`
  }

  #opened(type: string): string {
    return `${this.#line(type)}data: {"type":"${type}",`
  }

  #line(type: string): string {
    return this.#named ? `event: ${type}\n` : ''
  }
}
