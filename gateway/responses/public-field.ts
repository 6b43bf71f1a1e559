import { memberOf, placeInMessages, placeInResult, placeInTools } from '../generation/public-field.ts'
import type { GenerationHeaders, Sender } from '../generation/request.ts'
import { isMessage } from './input.ts'
import type { ContentPart } from './parts.ts'
import type { Origins } from './to-messages.ts'
import type { ResponseSettings } from './to-settings.ts'
import { offerOf, type ResponseOffer } from './to-tools.ts'

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

/** What fields of a generation were made from; without origins it has no conversation. */
interface Origin {
  readonly body: ResponseSettings & Sender
  readonly headers?: GenerationHeaders
  readonly offer?: ResponseOffer
  readonly origins?: Origins
}

/** Returns the function that maps a field of the generation to the member of the body that it was made from. */
export function fieldNames({
  body,
  headers = {},
  offer = offerOf(body),
  origins = [],
}: Origin): (field: string) => string {
  return (field) => {
    const place = placeInMessages(field)
    if (place !== undefined) {
      const { message, part, rest } = place
      const at = fieldOfInput(body, origins[message]?.[part ?? 0], part, rest)
      return field === `messages[${message}]` ? at.replace(/^(input\.\d+).*/, '$1') : at
    }
    const inTools = placeInTools(field, offer)
    if (inTools !== undefined) {
      const { offered, rest } = inTools
      const path = offered?.path ?? 'tools'
      if (rest === '.custom') return path
      if (rest === '.deferred') return `${path}.defer_loading`
      return rest.startsWith('.namespace') ? path.replace(/\.tools\.\d+$/, rest.slice(10)) : `${path}${rest}`
    }
    if (field === 'sampling.top_log_probabilities' && !body.top_logprobs && body.include != null) return 'include'
    return memberOf('responses', field, body, headers)
  }
}

/** `part`: undefined: it is about all parts of the message. */
function fieldOfInput(
  { input }: ResponseSettings,
  origin: Origins[number][number] | undefined,
  part: number | undefined,
  rest: string,
): string {
  if (origin === undefined || typeof input === 'string') return 'input'
  const item = input?.[origin.item]
  const at = `input.${origin.item}`
  if (item === undefined) return at
  if (isMessage(item) && rest.endsWith('.phase')) return `${at}.phase`
  if (isMessage(item))
    return fieldOfContent(`${at}.content`, item.content, part === undefined ? part : origin.part, rest)
  if (item.type !== 'function_call_output' && item.type !== 'custom_tool_call_output') return at
  const inner = placeInResult(rest)
  return fieldOfContent(`${at}.output`, item.output, inner?.part, inner?.rest ?? '')
}

function fieldOfContent(
  at: string,
  content: string | readonly ContentPart[] | null,
  part: number | undefined,
  rest: string,
): string {
  if (typeof content === 'string' || part === undefined) return at
  const item = content?.[part]
  if (rest === 'file.data' && item?.type === 'input_file' && item.file_data == null) return `${at}.${part}.file_url`
  const member = PART_NAMES[rest]
  return member === undefined ? `${at}.${part}` : `${at}.${part}.${member}`
}
