import { memberName } from '../generation/public-field.ts'
import type { CreateMessageBody } from './body.ts'
import type { MessagesHeaders } from './to-generation-request.ts'
import { originOf } from './to-messages.ts'
import { isCustomTool } from './tools.ts'

/** Fields of a part that have another name in a block. */
const PART_NAMES: Readonly<Record<string, string>> = {
  'image.data': 'source.data',
  'file.data': 'source.data',
  'file.name': 'title',
  'text.sources': 'citations',
  'tool_result.failed': 'is_error',
}

/** Maps a field of the generation to the member of the request body that it was made from. */
export function publicField(field: string, body: CreateMessageBody, headers: MessagesHeaders): string {
  const [, message, part, rest = ''] = /^messages\[(\d+)\](?:\.parts(?:\[(\d+)\])?)?\.?(.*)$/.exec(field) ?? []
  if (message !== undefined) {
    const at = originOf(body, Number(message), part === undefined ? part : Number(part))
    return withMember(at, rest)
  }
  const [, tool, ofTool = ''] = /^tools\[(\d+)\](.*)$/.exec(field) ?? []
  if (tool !== undefined) {
    return `tools.${placeOf(body, true, Number(tool))}${ofTool.replace(/^\.deferred$/, '.defer_loading')}`
  }
  const [, hosted] = /^hosted_tools\[(\d+)\]/.exec(field) ?? []
  if (hosted !== undefined) return `tools.${placeOf(body, false, Number(hosted))}`
  if (/^extensions\[\d+\]\.headers/.test(field)) return 'anthropic-beta'
  if (field === 'user' && body.user == null) return 'metadata.user_id'
  if (field === 'session_id' && body.session_id == null && headers['x-session-id']) return 'x-session-id'
  if (field === 'response_format' && body.output_config?.format == null && body.output_format != null) {
    return 'output_format'
  }
  if (field === 'reasoning.effort' && body.thinking?.type === 'disabled') return 'thinking'
  return memberName('messages', field)
}

function withMember(at: string, rest: string): string {
  const [, inner, ofInner = ''] = /^tool_result\.content(?:\[(\d+)\])?\.?(.*)$/.exec(rest) ?? []
  if (inner !== undefined) return withMember(`${at}.content.${inner}`, ofInner)
  const member = PART_NAMES[rest]
  return member === undefined ? at : `${at}.${member}`
}

/** The places of the tools of bodies: every name of a tool's field needs them again. */
const known = new WeakMap<CreateMessageBody, Map<boolean, number[]>>()

/** The caller's tools and Anthropic's are in one list. */
function placeOf(body: CreateMessageBody, custom: boolean, index: number): number {
  const places = known.get(body) ?? placesOf(body)
  known.set(body, places)
  return places.get(custom)?.[index] ?? index
}

function placesOf({ tools }: CreateMessageBody): Map<boolean, number[]> {
  const places = new Map<boolean, number[]>([
    [true, []],
    [false, []],
  ])
  for (const [place, tool] of (tools ?? []).entries()) places.get(isCustomTool(tool))?.push(place)
  return places
}
