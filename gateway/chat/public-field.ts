import { memberOf, placeInMessages, placeInResult, placeInTools } from '../generation/public-field.ts'
import type { GenerationHeaders, Sender } from '../generation/request.ts'
import type { ChatSettings } from './body.ts'
import type { Turn } from './to-messages.ts'
import { type ChatOffer, offerOf } from './to-settings.ts'

/** What fields of a generation were made from; without turns it has no conversation. */
interface Origin {
  readonly body: ChatSettings & Sender
  readonly headers?: GenerationHeaders
  readonly offer?: ChatOffer
  readonly turns?: readonly Turn[]
}

/** Returns the function that maps a field of the generation to the member of the body that it was made from. */
export function fieldNames({
  body,
  headers = {},
  offer = offerOf(body),
  turns = [],
}: Origin): (field: string) => string {
  return (field) => {
    const place = placeInMessages(field)
    if (place !== undefined) {
      const paths = turns[place.message]?.pieces.map(({ path }) => path) ?? []
      return fieldOfMessage(paths, place.part, place.rest) ?? (body.messages == null ? 'prompt' : 'messages')
    }
    const inTools = placeInTools(field, offer)
    if (inTools !== undefined) {
      const { offered, isHosted, rest } = inTools
      if (offered === undefined || isHosted) return offered?.path ?? 'tools'
      return `${offered.path}.${offered.tool.type}${rest.replace(/^\.custom$/, '')}`
    }
    if (field === 'max_output_tokens')
      return body.max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens'
    if (field.startsWith('sampling.stop')) return 'stop'
    if (field === 'sampling.top_log_probabilities' && body.top_logprobs) return 'top_logprobs'
    if (field === 'reasoning.effort' && body.reasoning_effort != null) return 'reasoning_effort'
    if (field === 'messages' && body.messages == null) return 'prompt'
    return memberOf('chat', field, body, headers)
  }
}

/** `paths`: what the parts of the message were made from. `part`: undefined: it is about all of them. */
function fieldOfMessage(paths: readonly string[], part: number | undefined, rest: string): string | undefined {
  const [first] = paths
  if (first === undefined) return undefined
  if (part === undefined) return first.replace(/^(messages\.\d+).*/, '$1')
  const origin = paths[part] ?? first
  if (rest.startsWith('tool_result')) {
    const at = `${origin}.content`
    const inner = placeInResult(rest)
    return inner?.part === undefined ? at : `${at}.${inner.part}${memberOfPart(inner.rest)}`
  }
  if (rest === 'text.sources') return origin.replace(/^(messages\.\d+).*/, '$1.annotations')
  if (rest === 'image.detail') return origin.replace(/url$/, 'detail')
  return rest === 'file.name' ? origin.replace(/file_data$/, 'filename') : origin
}

function memberOfPart(rest: string): string {
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
