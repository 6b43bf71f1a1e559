import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'

export interface Attachment {
  readonly data: Uint8Array
  readonly mime: string
  /** Undefined for `data:`. */
  readonly name: string | undefined
}

/** Reads attachments of prompts. */
export interface Attachments {
  /**
   * Reads a `data:` or `file:` URI, the latter only within the location. Rejects with ATTACHMENT_INVALID (metadata
   * problem) for another scheme, non-canonical encoding, an unreadable file, one outside of the location, or more than
   * 20 MiB.
   */
  read(location: Location, uri: string): Promise<Attachment>
}
