import type { MessageInitShape } from '@bufbuild/protobuf'
import type { BlobRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { InboxItemSchema } from '#gen/portico/session/v1/session_pb.js'
import type { InboxItem } from '../domain/inbox.ts'
import { blobIn } from '../domain/message.ts'
import { type BlobContents, withFiles } from './blob-contents.ts'

type ItemInit = MessageInitShape<typeof InboxItemSchema>

/** An inbox item as other services see it, with the content of its files. */
export function itemToProto(item: InboxItem, blobs: BlobContents): ItemInit {
  const { id, sessionId, timeCreated, delivery } = item
  return {
    messageId: id,
    sessionId,
    createTime: timeCreated,
    delivery,
    payload: payloadToProto(item, blobs),
  }
}

/** The blobs that an inbox item refers to. */
export function blobsOfItem(item: InboxItem): readonly BlobRef[] {
  return item.type === 'prompt' ? item.prompt.files.flatMap(blobIn) : []
}

function payloadToProto(item: InboxItem, blobs: BlobContents): NonNullable<ItemInit['payload']> {
  switch (item.type) {
    case 'prompt':
      return { case: 'prompt', value: withFiles(item.prompt, blobs) }
    case 'synthetic':
      return { case: 'synthetic', value: item.synthetic }
    case 'move':
      return { case: 'move', value: item.move }
    case 'compaction':
      return { case: 'compaction', value: {} }
  }
}
