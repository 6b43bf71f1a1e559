import type { MessageInitShape } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import type { Call } from '#gateway/call.ts'
import type { Clients } from '#gateway/clients.ts'
import type { BodyPart } from '#gateway/kinds.ts'
import { placeFor } from '#gateway/records/tool-content.ts'
import type { MessageSchema } from '#gen/portico/session/v1/message_pb.js'
import type { SessionImport } from '#gen/portico/session/v1/session_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { ApartContent, Scratch } from './apart-content.ts'
import type { ImportedInfo, ImportLocation } from './schemas.ts'
import { type MessageJson, toMessage } from './to-message.ts'
import { toImportedSession } from './to-session.ts'

type Sessions = Clients['session']

/** How many messages are sent in one batch, and about how many bytes together. */
const MOST_MESSAGES = 100
const MOST_BYTES = 524_288
/** The overhead of a part, which is written separately. */
const PART_BYTES = 512
/** An import expires a minute after its last call. */
const EXTEND_MS = 15_000
const ABANDON_MS = 5_000
/** Names in the body for fields that the service may refuse. */
const MEMBERS: Readonly<Record<string, string>> = { cost_nanos: 'cost', 'parts.name': 'content.[].name' }

/** Imports a session from the parts of a body as they arrive, and returns it; whatever fails, nothing stays. */
export async function importSession(session: Sessions, parts: AsyncIterable<BodyPart>, call: Call) {
  const job = new ImportJob(session, call)
  const extending = setInterval(() => job.extend(), EXTEND_MS)
  try {
    for await (const part of parts) await job.take(part)
    return await job.commit()
  } catch (error) {
    const abandoned = job.abandon()
    // The client does not wait a second time for an unavailable service: the import expires by itself.
    if (!isAway(error)) await abandoned
    throw error
  } finally {
    clearInterval(extending)
  }
}

function isAway(error: unknown): boolean {
  const { code } = ConnectError.from(error)
  return code === Code.Unavailable || code === Code.DeadlineExceeded
}

class ImportJob {
  readonly #session: Sessions
  readonly #call: Call
  #info: ImportedInfo | undefined
  #directory: string | undefined
  #import: SessionImport | undefined
  #batch: MessageInitShape<typeof MessageSchema>[] = []
  /** How many messages of the body come before those of the batch. */
  #sent = 0
  #bytes = 0
  #content: ApartContent | undefined
  readonly #scratch = new Scratch()

  constructor(session: Sessions, call: Call) {
    this.#session = session
    this.#call = call
  }

  async take(part: BodyPart): Promise<void> {
    if ('apart' in part) await this.#takeContent(part)
    else if (part.name === 'info') await this.#begin(part.value as ImportedInfo)
    else if (part.name === 'location') this.#directory = (part.value as ImportLocation)?.directory
    else await this.#takeMessage(part.value as MessageJson, part.size)
  }

  async commit() {
    await this.#send()
    const begun = this.#begun()
    const info = this.#info as ImportedInfo
    const request = { import: begun, session: toImportedSession(info), directory: this.#directory }
    const fieldName = (field: string): string => (field === 'directory' ? 'location.directory' : ofInfo(field))
    this.#call.publicField = fieldName
    return await this.#session.commitSessionImport(request, this.#call.options())
  }

  /** Says that more is coming. */
  extend(): void {
    if (this.#import === undefined) return
    const request = { import: this.#import, messages: [] }
    // The next call reports any problem.
    this.#session.appendImportedMessages(request, this.#call.options()).catch(() => {})
  }

  /** Also for a client that is gone. Where nobody can be reached, its time ends by itself. */
  async abandon(): Promise<void> {
    if (this.#import === undefined) return
    const { principal, requestId } = this.#call
    const options = callOptions({ principal, authenticated: true, requestId }, { timeoutMs: ABANDON_MS })
    await this.#session.abandonSessionImport({ import: this.#import }, options).catch(() => {})
  }

  async #begin(info: ImportedInfo): Promise<void> {
    this.#info = info
    this.#call.publicField = ofInfo
    const begun = await this.#session.beginSessionImport({ session: toImportedSession(info) }, this.#call.options())
    this.#import = begun.import
  }

  #begun(): SessionImport {
    if (this.#import !== undefined) return this.#import
    throw new Rejection('BODY_INVALID', {
      field: 'messages',
      problem: 'must come after info, since a body is read as it arrives',
    })
  }

  async #takeContent({ path, apart, last, replace }: Extract<BodyPart, { apart: string }>): Promise<void> {
    const begun = this.#begun()
    this.#content ??= new ApartContent(path, this.#scratch)
    this.#content.add(apart, last)
    if (!last) return
    const { text, data } = this.#content
    this.#content = undefined
    if (data === undefined) return replace(text)
    const fieldName = (field: string): string => (field === 'data' ? `messages.${path}` : field)
    this.#call.publicField = fieldName
    const kept = await this.#session.putImportedContent({ import: begun, data }, this.#call.options())
    replace(placeFor(kept.contentHash, BigInt(data.length)))
  }

  async #takeMessage(message: MessageJson, size: number): Promise<void> {
    this.#begun()
    const weight = size + (message.type === 'assistant' ? message.content.length * PART_BYTES : 0)
    if (this.#bytes + weight > MOST_BYTES || this.#batch.length === MOST_MESSAGES) await this.#send()
    this.#batch.push(toMessage(message))
    this.#bytes += weight
  }

  async #send(): Promise<void> {
    const messages = this.#batch
    const sent = this.#sent
    this.#batch = []
    this.#sent += messages.length
    this.#bytes = 0
    if (messages.length === 0) return
    const fieldName = (field: string): string => publicField(field, sent)
    this.#call.publicField = fieldName
    await this.#session.appendImportedMessages({ import: this.#begun(), messages }, this.#call.options())
  }
}

function ofInfo(field: string): string {
  return `info.${MEMBERS[field] ?? field}`
}

/** What the body calls a field of a message that the service names by its place in a batch; `sent` come before it. */
function publicField(field: string, sent: number): string {
  const [, place, rest = ''] = /^messages\.(\d+)(.*)$/.exec(field) ?? []
  if (place === undefined) return `messages.${MEMBERS[field] ?? field}`
  const member = rest
    .replace(/^\.user/, '')
    .replace(/^\.assistant\.parts/, '.content')
    .replace(/\.tool\.content$/, '.state.content')
  return `messages.${sent + Number(place)}${member}`
}
