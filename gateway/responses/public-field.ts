import type { z } from 'zod'
import { memberName } from '../generation/public-field.ts'
import type { CreateResponseBody } from './body.ts'
import type { responsesHeaders } from './dialect.ts'
import { isMessage } from './input.ts'
import type { ContentPart } from './parts.ts'
import { originOf } from './to-messages.ts'
import { offerOf } from './to-tools.ts'

/** Fields of a part that have another name in the body. */
const PART_NAMES: Readonly<Record<string, string>> = {
  'image.data': 'image_url',
  'file.data': 'file_data',
  'file.name': 'filename',
  'audio.data': 'input_audio.data',
  'video.data': 'video_url',
  'text.sources': 'annotations',
  'image.detail': 'detail',
}

/** Maps a field of the generation to the member of the request body that it was made from. */
export function publicField(
  field: string,
  body: CreateResponseBody,
  headers: z.output<typeof responsesHeaders>,
): string {
  const [, message, part, ofPart = ''] = /^messages\[(\d+)\](?:\.parts(?:\[(\d+)\])?\.?(.*))?$/.exec(field) ?? []
  if (message !== undefined) {
    const at = fieldOfInput(body, Number(message), part === undefined ? part : Number(part), ofPart)
    return field === `messages[${message}]` ? at.replace(/^(input\.\d+).*/, '$1') : at
  }
  const [, list, tool, ofTool = ''] = /^(tools|hosted_tools)\[(\d+)\](.*)$/.exec(field) ?? []
  if (tool !== undefined) {
    const { tools, hosted } = offerOf(body)
    const path = (list === 'tools' ? tools : hosted)[Number(tool)]?.path ?? 'tools'
    if (ofTool === '.custom') return path
    if (ofTool === '.deferred') return `${path}.defer_loading`
    return ofTool.startsWith('.namespace') ? path.replace(/\.tools\.\d+$/, ofTool.slice(10)) : `${path}${ofTool}`
  }
  if (field === 'user' && body.user == null) return 'safety_identifier'
  if (field === 'session_id' && body.session_id == null) {
    return headers['x-session-id'] ? 'x-session-id' : 'prompt_cache_key'
  }
  if (field === 'sampling.top_log_probabilities' && !body.top_logprobs && body.include != null) return 'include'
  return memberName('responses', field)
}

/** `part`: undefined: it is about all parts of the message. */
function fieldOfInput(body: CreateResponseBody, message: number, part: number | undefined, rest: string): string {
  const origin = originOf(body, message, part ?? 0)
  if (origin === undefined || typeof body.input === 'string') return 'input'
  const item = body.input[origin.item]
  const at = `input.${origin.item}`
  if (item === undefined) return at
  if (isMessage(item) && rest.endsWith('.phase')) return `${at}.phase`
  if (isMessage(item))
    return fieldOfContent(`${at}.content`, item.content, part === undefined ? part : origin.part, rest)
  if (item.type !== 'function_call_output' && item.type !== 'custom_tool_call_output') return at
  const [, inner, ofInner = ''] = /^tool_result\.content(?:\[(\d+)\])?\.?(.*)$/.exec(rest) ?? []
  return fieldOfContent(`${at}.output`, item.output, inner === undefined ? inner : Number(inner), ofInner)
}

function fieldOfContent(
  at: string,
  content: string | readonly ContentPart[] | null,
  part: number | undefined,
  rest: string,
): string {
  if (typeof content === 'string' || part === undefined) return at
  const given = content?.[part]
  if (rest === 'file.data' && given?.type === 'input_file' && given.file_data == null) return `${at}.${part}.file_url`
  const member = PART_NAMES[rest]
  return member === undefined ? `${at}.${part}` : `${at}.${part}.${member}`
}
