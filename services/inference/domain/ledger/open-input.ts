import type { ForeignPart, GenerationRequest, Part } from '#gen/portico/inference/v1/inference_pb.js'
import { tokensOfBytes } from '#shared/text-tokens.ts'
import { COSTLY_PICTURES, MOST_TOKENS, USUAL_TOKENS } from './media-tokens.ts'

/** What a request may use beyond the estimate of its input. */
export interface OpenInput {
  /** Tokens that media may have beyond the usual; never more than fits into the model. */
  readonly mediaTokens: number
  /** Tokens that the provider's own tools may give the model to read, each time. */
  readonly toolTokens: number
  /** Web searches that they may make. */
  readonly searches: number
  /** File searches that they may make. */
  readonly fileSearches: number
  /** Output that is charged besides what is generated: a wrong prediction. */
  readonly outputTokens: number
}

/** Tools in a provider's form that the caller runs, or that read nothing. */
const READS_NOTHING = /^(bash|text_editor|computer|memory|apply_patch|local_shell|tool_search|image_generation)/
const SEARCHES = /^(web_search|x_search|google_search)/
/** Assumed uses of a tool if the request sets no `max_uses`; models rarely use one more than ten times in a turn. */
const USES = 10
/** Maximum number of uses in a turn, whatever the request says. */
const MOST_USES = 1_000
/** Tokens that one use returns: ten results of a search, or a page. */
const TOKENS_OF_USE = 10_000

/** The maximum that a request may use beyond `inputTokensOf`. */
export function openInputOf(
  { messages, hostedTools, extensions, prediction = '' }: GenerationRequest,
  modelId: string,
): OpenInput {
  let mediaTokens = 0
  for (const { parts } of messages) for (const part of parts) mediaTokens += openTokensOf(part, modelId)
  let uses = 0
  let searches = 0
  let fileSearches = 0
  for (const { definition } of hostedTools) {
    const type = String(definition?.type)
    if (READS_NOTHING.test(type)) continue
    const max = definition?.max_uses
    const most = Math.min(Math.max(Math.ceil(typeof max === 'number' ? max : USES), 0), MOST_USES)
    uses += most
    if (SEARCHES.test(type)) searches += most
    if (type === 'file_search') fileSearches += most
  }
  for (const { body } of extensions) uses += USES * (Array.isArray(body?.mcp_servers) ? body.mcp_servers.length : 0)
  const outputTokens = tokensOfBytes(Buffer.byteLength(prediction))
  return { mediaTokens, toolTokens: uses * TOKENS_OF_USE, searches, fileSearches, outputTokens }
}

function openTokensOf({ part }: Part, modelId: string): number {
  switch (part.case) {
    case 'toolResult':
      return part.value.content.reduce((sum, inner) => sum + openTokensOf(inner, modelId), 0)
    case 'image':
      return (COSTLY_PICTURES[0].test(modelId) ? COSTLY_PICTURES[1] : MOST_TOKENS.image) - USUAL_TOKENS.image
    case 'file':
    case 'audio':
    case 'video':
      return part.value.source.case === 'data' ? 0 : MOST_TOKENS[part.case] - USUAL_TOKENS[part.case]
    case 'foreign':
      return namesFile(part.value) ? MOST_TOKENS.file : 0
    default:
      return 0
  }
}

/** Whether an item in a provider's form stands for a file that is stored there, or at a URL. */
function namesFile({ item: { source, file_id: fileId } = {} }: ForeignPart): boolean {
  if (fileId !== undefined) return true
  return typeof source === 'object' && source !== null && ('file_id' in source || 'url' in source)
}
