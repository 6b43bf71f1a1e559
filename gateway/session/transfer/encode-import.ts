import { create, toBinary } from '@bufbuild/protobuf'
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { z } from 'zod'
import { check, invalidAt } from '#gateway/http/check.ts'
import { JSON_LIMITS, JsonGauge } from '#gateway/http/json-gauge.ts'
import { parseJson } from '#gateway/http/parse-json.ts'
import { countMembers } from '#gateway/shape.ts'
import { MessageSchema } from '#gen/portico/session/v1/message_pb.js'
import { isObject } from '#shared/json.ts'
import { isProviderData } from './sanitize.ts'
import { importBody, importedMessage } from './schemas.ts'
import { toMessage } from './to-message.ts'
import { toImportedSession } from './to-session.ts'

/** Most members and items of one message, which a service decodes in one go. */
const MOST_MEMBERS = 100_000
const LIMITS = { ...JSON_LIMITS, members: Number.POSITIVE_INFINITY }
const DATA_HINT = 'must be omitted: send its content, `info` and `messages`, which `jq .data` extracts from an export'

const head = z.strictObject({ ...importBody.shape, messages: z.array(z.unknown()) })

/** What an import asks for, as the RPC takes it. */
export type EncodedImport = ReturnType<typeof encodeImport>

/**
 * Parses and checks the JSON of an import, and encodes its messages. Takes long, and is called in a thread of its own.
 * Rejects with BODY_MALFORMED or BODY_INVALID.
 */
export function encodeImport(bytes: Uint8Array) {
  new JsonGauge(LIMITS).add(bytes)
  const body = parseJson(bytes)
  if (isObject(body) && Object.hasOwn(body, 'data')) throw invalidAt(['data'], DATA_HINT, 'BODY_INVALID')
  const { messages: items, ...rest } = isObject(body) ? body : {}
  requireFew(rest, [])
  const tidied = isObject(body) ? { ...(tidy(rest) as object), messages: items } : body
  const { info, location, messages } = check(head, tidied, 'BODY_INVALID')
  const writer = new BinaryWriter()
  for (const [i, each] of messages.entries()) {
    const at = ['messages', i]
    requireFew(each, at)
    const message = check(importedMessage, tidy(each), 'BODY_INVALID', at)
    writer.bytes(toBinary(MessageSchema, create(MessageSchema, toMessage(message, at))))
  }
  return { session: toImportedSession(info), directory: location?.directory, messages: writer.finish() }
}

function requireFew(value: unknown, path: readonly PropertyKey[]): void {
  if (countMembers(value) <= MOST_MEMBERS) return
  throw invalidAt(path, `must have at most ${MOST_MEMBERS} members and items`, 'BODY_INVALID')
}

const NAMES: Readonly<Record<string, string>> = {
  text: 'state',
  reasoning: 'state',
  tool: 'providerState',
  assistant: 'providerState',
  compaction: 'providerState',
}

/**
 * Brings an import into the form of its schema: drops members that are null, and renames `native`, which some servers
 * use for `state` and `providerState`. Data of a client, a tool or a provider is left unchanged.
 */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy)
  if (!isObject(value)) return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(
    members.map(([name, member]) => {
      const newName = nameOf(name, value)
      return [newName, isProviderData(newName, value) ? member : tidy(member)]
    }),
  )
}

function nameOf(name: string, holder: Readonly<Record<string, unknown>>): string {
  const newName = name === 'native' && typeof holder.type === 'string' ? NAMES[holder.type] : undefined
  return newName === undefined || Object.hasOwn(holder, newName) ? name : newName
}
