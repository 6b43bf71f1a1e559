import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  CompactionRequestSchema,
  Delivery,
  type InboxItem,
  SyntheticTextSchema,
} from '#gen/portico/session/v1/session_pb.js'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import { cancelItem, changeDelivery, type Unchanged } from '../domain/inbox/inbox-changes.ts'
import { admit, admitCompaction } from '../domain/inbox/inputs.ts'
import { blobsOfItem, MOST_INBOX_ITEMS } from '../domain/inbox.ts'
import { jsonBytesOf } from '../domain/message-size.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { checkAdmitted, digestOf, parseDelivery } from './admission.ts'
import { itemWithContents, readWithContents } from './blob-contents.ts'
import type { SessionDependencies } from './dependencies.ts'
import { parseMessageId, parseMetadata } from './parse.ts'

/**
 * Maximum size of a list as JSON, with its files, in bytes: a response must stay below the 64 MiB of a message between
 * processes.
 */
const MAX_PAGE_BYTES = 40 * 1_048_576
/** How many items to read at once while they are small; the first ones show how large they are. */
const BATCH = 20
const FIRST_BATCH = 2

const checkSynthetic = checkLimits(SyntheticTextSchema)

const PROBLEMS: Readonly<Partial<Record<Unchanged, string>>> = {
  unknown: 'was never in the inbox of this session',
  delivered: 'has already entered the conversation',
  cancelled: 'was cancelled',
}

/** The handlers of inboxes, but for prompts and moves. */
export function inboxHandlers(dependencies: SessionDependencies) {
  const { store, blobs } = dependencies
  return {
    /** Admits one synthetic text; the response means that it is durable. */
    async addSyntheticInput(request, context) {
      const admitter = principalOf(context)
      const id = parseMessageId(request.messageId)
      const { synthetic } = request
      check(synthetic !== undefined, 'synthetic', 'must be set')
      checkSynthetic(synthetic)
      parseMetadata(synthetic.metadata)
      const delivery = parseDelivery(request.delivery)
      const { text, description = null, metadata = null } = synthetic
      const digest = digestOf([text, description, metadata, delivery])
      const payload = { case: 'synthetic', value: synthetic } as const
      const admission = { id, payload, delivery, digest, admitter, wake: !request.parked }
      const item = await store.revise(
        { workspace: admitter.workspaceId, sessionId: request.sessionId },
        (reads) => reads.admissionReads(id),
        (revision, reads) => checkAdmitted(admit(revision, reads, admission), request.sessionId, id),
      )
      return { item }
    },
    /** Admits a compaction, unless one waits; the response means that it is durable. */
    async compactSession(request, context) {
      const admitter = principalOf(context)
      const id = parseMessageId(request.messageId)
      const delivery = parseDelivery(request.delivery)
      const digest = digestOf(['compaction', delivery])
      const payload = { case: 'compaction', value: create(CompactionRequestSchema) } as const
      const admission = { id, payload, delivery, digest, admitter, wake: true }
      const item = await store.revise(
        { workspace: admitter.workspaceId, sessionId: request.sessionId },
        (reads) => reads.compactionReads(id),
        (revision, reads) => checkAdmitted(admitCompaction(revision, reads, admission), request.sessionId, id),
      )
      return { item }
    },
    /** Lists what waits in the inbox of a session; the list ends early rather than grow too large. */
    async listInboxItems({ sessionId }, context) {
      const { workspaceId: workspace } = principalOf(context)
      const read = () => readItems(store, workspace, sessionId)
      const refsOf = (items: readonly InboxItem[]) => items.flatMap(blobsOfItem)
      const { record: items, contents } = await readWithContents(blobs, { workspace, sessionId }, read, refsOf)
      return { items: items.map((item) => itemWithContents(item, contents)) }
    },
    /** Changes when an item that waits enters the conversation. */
    async changeInboxDelivery({ sessionId, messageId, delivery: wanted }, context) {
      const { workspaceId } = principalOf(context)
      const delivery = parseDelivery(wanted)
      await store.revise(
        { workspace: workspaceId, sessionId },
        (reads) => reads.item(messageId),
        (revision, entry) => {
          const unchanged = changeDelivery(revision, entry, delivery)
          if (unchanged === undefined) return
          const problem = PROBLEMS[unchanged] ?? `already has the delivery ${Delivery[delivery].toLowerCase()}`
          throw new Rejection('INBOX_ITEM_CONFLICT', { message_id: messageId, problem })
        },
      )
      return {}
    },
    async cancelInboxItem({ sessionId, messageId }, context) {
      const { workspaceId } = principalOf(context)
      await store.revise({ workspace: workspaceId, sessionId }, (reads) => reads.item(messageId), cancelItem)
      return {}
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>
}

async function readItems(store: SessionStore, workspace: string, sessionId: string): Promise<InboxItem[]> {
  const items: InboxItem[] = []
  let bytes = 0
  let afterSeq = 0
  let limit = FIRST_BATCH
  for (;;) {
    const batch = await store.inspect(
      { workspace, sessionId },
      (reads) => reads.inbox(afterSeq, limit),
      (_, waiting) => waiting,
    )
    for (const { seq, item } of batch) {
      bytes += jsonBytesOf(item) + blobsOfItem(item).reduce((sum, { size }) => sum + size, 0)
      if (items.length === MOST_INBOX_ITEMS || (items.length > 0 && bytes > MAX_PAGE_BYTES)) return items
      items.push(item)
      afterSeq = seq
    }
    if (batch.length < limit) return items
    const fitting = ((MAX_PAGE_BYTES - bytes) * items.length) / bytes
    limit = Math.min(Math.max(Math.ceil(fitting), 1), BATCH)
  }
}
