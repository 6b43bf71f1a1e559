import { hash } from 'node:crypto'
import type { PromptSessionRequest } from '#gen/portico/session/v1/session_service_pb.js'
import type { Json } from '../domain/session.ts'

/**
 * A digest of what a prompt says, before its files are read: the same for a request that is sent again, whatever order
 * the members of its free-form data have. Whether it wakes the session is no part of it.
 */
export function promptDigest({ text, files, agents, metadata, delivery }: PromptSessionRequest): string {
  const said: Json[] = [
    text,
    delivery,
    files.map(({ uri, name = null, description = null, mention }) => [uri, name, description, span(mention)]),
    agents.map(({ name, mention }) => [name, span(mention)]),
    metadata === undefined ? null : sorted(metadata),
  ]
  return hash('sha256', JSON.stringify(said), 'base64url')
}

function span(mention: { start: number; end: number; text: string } | undefined): Json {
  return mention === undefined ? null : [mention.start, mention.end, mention.text]
}

function sorted(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  return Object.keys(value)
    .sort()
    .map((key) => [key, sorted(value[key] as Json)])
}
