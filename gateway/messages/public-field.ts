import { memberOf, placeInMessages, placeInResult, placeInTools } from '../generation/public-field.ts'
import type { GenerationHeaders, Sender } from '../generation/request.ts'
import type { MessageSettings } from './body.ts'
import type { Turn } from './to-messages.ts'
import { type MessageOffer, offerOf } from './tools.ts'

/** Fields of a part that have another name in a block. */
const PART_NAMES: Readonly<Record<string, string>> = {
  'image.data': 'source.data',
  'file.data': 'source.data',
  'file.name': 'title',
  'text.sources': 'citations',
  'tool_result.failed': 'is_error',
}

/** What fields of a generation were made from; without turns it has no conversation. */
interface Origin {
  readonly body: MessageSettings & Sender
  readonly headers?: GenerationHeaders
  readonly offer?: MessageOffer
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
    if (place !== undefined) return withMember(pathOf(turns[place.message], place.part), place.rest)
    const inTools = placeInTools(field, offer)
    if (inTools !== undefined) {
      const { offered, isHosted, rest } = inTools
      if (offered === undefined || isHosted) return offered?.path ?? 'tools'
      return `${offered.path}${rest.replace(/^\.deferred$/, '.defer_loading')}`
    }
    if (/^extensions\[\d+\]\.headers/.test(field)) return 'anthropic-beta'
    if (field === 'response_format' && body.output_config?.format == null && body.output_format != null) {
      return 'output_format'
    }
    if (field === 'reasoning.effort' && body.thinking?.type === 'disabled') return 'thinking'
    return memberOf('messages', field, body, headers)
  }
}

/** The path of what a part of a turn was made of; `part`: undefined: of all its parts. */
function pathOf(turn: Turn | undefined, part: number | undefined): string {
  if (turn === undefined) return 'messages'
  return typeof turn.content === 'string' || part === undefined ? turn.at : `${turn.at}.${turn.from + part}`
}

function withMember(at: string, rest: string): string {
  const inner = placeInResult(rest)
  if (inner?.part !== undefined) return withMember(`${at}.content.${inner.part}`, inner.rest)
  const member = PART_NAMES[rest]
  return member === undefined ? at : `${at}.${member}`
}
