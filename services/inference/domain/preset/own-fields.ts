import type { GenerationRequest } from '#gen/portico/inference/v1/inference_pb.js'

type Listed = Pick<GenerationRequest, 'messages' | 'tools' | 'hostedTools'>

const IN_LIST = /^(messages|tools|hosted_tools)\[(\d+)\](.*)$/

interface List {
  /** The completed one. */
  readonly completed: readonly object[]
  /** The places that its members have in the request as it came. */
  readonly places: ReadonlyMap<object, number>
  /** The name of what a preset adds. */
  readonly added: string
}

/**
 * The names of fields of a completed request in the request as it came, whose lists lack what a preset added; that has
 * names of the preset.
 */
export class OwnFields {
  readonly #lists: ReadonlyMap<string | undefined, List>

  constructor(own: Listed, completed: Listed) {
    this.#lists = new Map([
      ['messages', toList(own.messages, completed.messages, 'preset.system_prompt')],
      ['tools', toList(own.tools, completed.tools, 'preset.tools')],
      ['hosted_tools', toList(own.hostedTools, completed.hostedTools, 'preset.tools')],
    ])
  }

  nameOf(field: string): string {
    const [, name, index, rest = ''] = IN_LIST.exec(field) ?? []
    const list = this.#lists.get(name)
    if (list === undefined) return field
    const member = list.completed[Number(index)]
    const place = member && list.places.get(member)
    return place === undefined ? list.added : `${name}[${place}]${rest}`
  }
}

function toList(own: readonly object[], completed: readonly object[], added: string): List {
  return { completed, places: new Map(own.map((member, place) => [member, place])), added }
}
