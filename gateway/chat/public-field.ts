import { memberName } from '../generation/public-field.ts'
import type { GenerationHeaders } from '../generation/request.ts'
import type { CreateChatBody } from './body.ts'
import { offerOf } from './offer.ts'
import { originsOf } from './to-messages.ts'

/** Maps a field of the generation to the member of the request body that it was made from. */
export function publicField(field: string, body: CreateChatBody, headers: GenerationHeaders): string {
  const [, message, part, ofPart = ''] = /^messages\[(\d+)\](?:\.parts(?:\[(\d+)\])?\.?(.*))?/.exec(field) ?? []
  if (message !== undefined)
    return fieldOfMessage(body, Number(message), part === undefined ? part : Number(part), ofPart)
  const [, list, tool, ofTool = ''] = /^(tools|hosted_tools)\[(\d+)\](.*)$/.exec(field) ?? []
  if (tool !== undefined) return fieldOfTool(body, list === 'tools', Number(tool), ofTool)
  if (field === 'max_output_tokens') return body.max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens'
  if (field === 'user' && body.user == null) return 'safety_identifier'
  if (field === 'session_id' && body.session_id == null) {
    return headers['x-session-id'] ? 'x-session-id' : 'prompt_cache_key'
  }
  if (field.startsWith('sampling.stop')) return 'stop'
  if (field === 'sampling.top_log_probabilities' && body.top_logprobs) return 'top_logprobs'
  if (field === 'reasoning.effort' && body.reasoning_effort != null) return 'reasoning_effort'
  if (field === 'messages' && body.messages == null) return 'prompt'
  return memberName('chat', field)
}

/** `part`: undefined: it is about all parts of the message. */
function fieldOfMessage(body: CreateChatBody, message: number, part: number | undefined, rest: string): string {
  const origins = originsOf(body, message)
  const [first] = origins
  if (first === undefined) return body.messages == null ? 'prompt' : 'messages'
  if (part === undefined) return first.replace(/^(messages\.\d+).*/, '$1')
  const origin = origins[part] ?? first
  const [, inner, ofInner = ''] = /^tool_result\.content(?:\[(\d+)\])?\.?(.*)$/.exec(rest) ?? []
  if (rest.startsWith('tool_result')) {
    const at = `${origin}.content`
    return inner === undefined ? at : `${at}.${inner}${memberOf(ofInner)}`
  }
  if (rest === 'text.sources') return origin.replace(/^(messages\.\d+).*/, '$1.annotations')
  if (rest === 'image.detail') return origin.replace(/url$/, 'detail')
  return rest === 'file.name' ? origin.replace(/file_data$/, 'filename') : origin
}

function memberOf(rest: string): string {
  switch (rest) {
    case 'image.data':
      return '.image_url.url'
    case 'image.detail':
      return '.image_url.detail'
    case 'video.data':
      return '.video_url.url'
    case 'file.data':
      return '.file.file_data'
    case 'file.name':
      return '.file.filename'
    case 'audio.data':
      return '.input_audio.data'
    default:
      return ''
  }
}

/** `callable`: it is about tools of the caller; else about such that a provider runs. */
function fieldOfTool(body: CreateChatBody, callable: boolean, index: number, rest: string): string {
  const offer = offerOf(body)
  if (!callable) return offer.hosted[index]?.path ?? `tools.${index}`
  const offered = offer.callable[index]
  if (offered === undefined) return `tools.${index}${rest}`
  return `${offered.path}.${offered.tool.type}${rest.replace(/^\.custom$/, '')}`
}
