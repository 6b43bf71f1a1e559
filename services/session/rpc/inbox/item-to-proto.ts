import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { InboxItemSchema } from '#gen/portico/session/v1/session_pb.js'
import type { InboxItem } from '#services/session/domain/inbox.ts'
import type { BlobRef } from '#services/session/domain/message.ts'
import type { BlobContents } from '../blob-contents.ts'
import { deliveries } from '../enums.ts'
import { promptToProto, syntheticToProto } from '../message/content-to-proto.ts'
import { locationToProto } from '../session/session-to-proto.ts'

type Init = MessageInitShape<typeof InboxItemSchema>

/** An inbox item as other services see it, with the content of its files. */
export function itemToProto(item: InboxItem, blobs: BlobContents): Init {
  const { id, sessionId, timeCreated, delivery } = item
  return {
    messageId: id,
    sessionId,
    createTime: timestampFromMs(timeCreated),
    delivery: deliveries.toProto(delivery),
    payload: payloadToProto(item, blobs),
  }
}

/** The blobs that an inbox item refers to. */
export function blobsOfItem(item: InboxItem): readonly BlobRef[] {
  return item.type === 'prompt' ? item.prompt.files.map(({ blob }) => blob) : []
}

function payloadToProto(item: InboxItem, blobs: BlobContents): NonNullable<Init['payload']> {
  switch (item.type) {
    case 'prompt':
      return { case: 'prompt', value: promptToProto(item.prompt, blobs) }
    case 'synthetic':
      return { case: 'synthetic', value: syntheticToProto(item.synthetic) }
    case 'move':
      return { case: 'move', value: locationToProto(item.move) }
    case 'compaction':
      return { case: 'compaction', value: {} }
  }
}
