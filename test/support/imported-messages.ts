import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { sizeDelimitedEncode } from '@bufbuild/protobuf/wire'
import { MessageSchema } from '#gen/portico/session/v1/message_pb.js'

/** Messages as ImportSession takes them. */
export function importedMessages(messages: readonly MessageInitShape<typeof MessageSchema>[]): Uint8Array<ArrayBuffer> {
  return Buffer.concat(messages.map((each) => sizeDelimitedEncode(MessageSchema, create(MessageSchema, each))))
}
