import { sharedField } from '../generation/public-field.ts'
import type { CreateMessageBody } from './body.ts'
import type { MessagesHeaders } from './to-generation-request.ts'
import { originOf } from './to-messages.ts'
import { isCustomTool } from './tools.ts'

/** Fields of a generation that have another name in the body. Those of `sampling` stand in the body itself. */
const NAMES: Readonly<Record<string, string>> = {
  max_output_tokens: 'max_tokens',
  'sampling.stop': 'stop_sequences',
  reasoning: 'thinking',
  'reasoning.max_tokens': 'thinking.budget_tokens',
  'reasoning.effort': 'output_config.effort',
  'reasoning.summary': 'thinking.display',
  response_format: 'output_config.format',
  'response_format.json_schema.name': 'output_config.format.name',
  parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
}

/** The same for fields of a part. */
const PART_NAMES: Readonly<Record<string, string>> = {
  'image.data': 'source.data',
  'file.data': 'source.data',
  'file.name': 'title',
}

/** Maps a field of the generation to the member of the request body that it was made from. */
export function publicField(field: string, body: CreateMessageBody, headers: MessagesHeaders): string {
  const [, message, part, rest = ''] = /^messages\[(\d+)\](?:\.parts(?:\[(\d+)\])?)?\.?(.*)$/.exec(field) ?? []
  if (message !== undefined) {
    const at = originOf(body, Number(message), part === undefined ? part : Number(part))
    return withMember(at, rest)
  }
  const [, tool, ofTool = ''] = /^tools\[(\d+)\](.*)$/.exec(field) ?? []
  if (tool !== undefined) return `tools.${placeOf(body, true, Number(tool))}${ofTool}`
  const [, hosted] = /^hosted_tools\[(\d+)\]/.exec(field) ?? []
  if (hosted !== undefined) return `tools.${placeOf(body, false, Number(hosted))}`
  if (/^extensions\[\d+\]\.headers/.test(field)) return 'anthropic-beta'
  if (field === 'user' && body.user == null) return 'metadata.user_id'
  if (field === 'session_id' && body.session_id == null && headers['x-session-id']) return 'x-session-id'
  return NAMES[field] ?? sharedField(field)
}

function withMember(at: string, rest: string): string {
  const [, inner, ofInner = ''] = /^tool_result\.content(?:\[(\d+)\])?\.?(.*)$/.exec(rest) ?? []
  if (inner !== undefined) return withMember(`${at}.content.${inner}`, ofInner)
  const member = PART_NAMES[rest]
  return member === undefined ? at : `${at}.${member}`
}

/** The caller's tools and Anthropic's are in one list. */
function placeOf({ tools }: CreateMessageBody, custom: boolean, index: number): number {
  const places = [...(tools ?? []).keys()].filter((place) => {
    const tool = tools?.[place]
    return tool !== undefined && isCustomTool(tool) === custom
  })
  return places[index] ?? index
}
