import type { ResponsesDialect } from '#gateway/generation/responses-dialect.ts'
import type { SchemaEventType, SchemaMembers, SpecifiedEventType, SpecifiedMembers } from '../events.ts'
import type { ResponseObject } from '../response.ts'

/** The constant beginnings of the events by which one item grows. */
export interface DeltaPrefix {
  /** Event of OpenAI's schema; empty in the specification's dialect. */
  readonly schema: string
  /** Event of the specification; empty where it has none. */
  readonly specification: string
}

type SharedEventType = SchemaEventType & SpecifiedEventType
type DeltaEventType = Extract<SchemaEventType, `${string}.delta`>
/** The response in the last events of the specification. */
export type SpecifiedEnd = SpecifiedMembers<'response.done'>['response']

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
  begin(response: ResponseObject, specified: SpecifiedMembers<'response.created'>['response']): void {
    if (this.#schema) {
      const json = JSON.stringify(response)
      this.#response('response.created', json)
      this.#response('response.in_progress', json)
    } else this.#write('response.created', { response: specified })
  }

  /** An event that only OpenAI's schema has. */
  schema<T extends SchemaEventType>(type: T, members: SchemaMembers<T>): void {
    if (this.#schema) this.#write(type, members)
  }

  /** An event that only the specification has. */
  specified<T extends SpecifiedEventType>(type: T, members: SpecifiedMembers<T>): void {
    if (this.#specification) this.#write(type, members)
  }

  /** An event that both have; `more` are the members that only OpenAI's schema wants. */
  shared<T extends SharedEventType>(type: T, members: SpecifiedMembers<T>, more?: { readonly item_id: string }): void {
    this.#write(type, this.#schema ? { ...members, ...more } : members)
  }

  /** The beginnings of delta events. The specification has one for text, with the members given apart. */
  prefix<T extends DeltaEventType>(
    type: T,
    members: Omit<SchemaMembers<T>, 'delta'>,
    specification?: Omit<SpecifiedMembers<'response.content_part.delta'>, 'delta'>,
  ): DeltaPrefix {
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

  /** The last events: the end in OpenAI's schema, the end in the specification, and the end mark. */
  end(
    type: 'response.completed' | 'response.incomplete' | 'response.failed',
    response: ResponseObject,
    specified: SpecifiedEnd,
  ): void {
    if (this.#schema) {
      // Both hold the same object, which is longer than the whole answer: it is encoded once.
      const json = JSON.stringify(response)
      this.#response(type, json)
      if (this.#specification) this.#response('response.done', json)
    } else this.#write('response.done', { response: specified })
    this.#text += 'data: [DONE]\n\n'
  }

  #response(type: SchemaEventType | 'response.done', json: string): void {
    this.#text += `${this.#opened(type)}"response":${json}${NUMBER}${this.#sequence++}${END}`
  }

  #write(type: string, members: object): void {
    const numbered = this.#schema ? { type, ...members, sequence_number: this.#sequence++ } : { type, ...members }
    this.#text += `${this.#line(type)}data: ${JSON.stringify(numbered)}\n\n`
  }

  #open(type: string, members: object): string {
    return `${this.#opened(type)}${JSON.stringify(members).slice(1, -1)},"delta":`
  }

  #opened(type: string): string {
    return `${this.#line(type)}data: {"type":"${type}",`
  }

  #line(type: string): string {
    return this.#named ? `event: ${type}\n` : ''
  }
}
