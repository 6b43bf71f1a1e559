import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { ReadAttachmentResponse } from '#gen/portico/catalog/v1/catalog_service_pb.js'

export interface Attachments {
  /**
   * Reads a `data:` or `file:` URI, the latter only within the location. Rejects with ATTACHMENT_INVALID (metadata
   * problem) for another scheme, non-canonical encoding, an unreadable file, one outside of the location, or more than
   * 20 MiB.
   */
  read(location: Location, uri: string): Promise<ReadAttachmentResponse>
}
