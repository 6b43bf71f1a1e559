import type { GenerationRequest } from '../generation.ts'

type Listed = Pick<GenerationRequest, 'messages' | 'tools' | 'hostedTools'>

const LISTS = { messages: 'messages', tools: 'tools', hosted_tools: 'hostedTools' } as const
/** What a preset adds, by the list that it adds to. */
const OF_PRESET = { messages: 'preset.system_prompt', tools: 'preset.tools', hosted_tools: 'preset.tools' } as const

/**
 * The name of a field of a completed request in the request as it came, whose lists lack what the preset added; that
 * has names of the preset.
 */
export function ownField(field: string, own: Listed, completed: Listed): string {
  const [, list, index, rest = ''] = /^(messages|tools|hosted_tools)\[(\d+)\](.*)$/.exec(field) ?? []
  if (list === undefined) return field
  const name = list as keyof typeof LISTS
  const added: readonly unknown[] = completed[LISTS[name]]
  const place = (own[LISTS[name]] as readonly unknown[]).indexOf(added[Number(index)])
  return place < 0 ? OF_PRESET[name] : `${name}[${place}]${rest}`
}
