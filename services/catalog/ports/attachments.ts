import type { Location } from '../domain/location.ts'

export interface Attachment {
  readonly data: Uint8Array
  readonly mime: string
  /** Undefined for `data:`. */
  readonly name: string | undefined
}

/** Reads what a prompt attaches. */
export interface Attachments {
  /**
   * Reads a `data:` or `file:` URI, the latter within the location only. Rejects with ATTACHMENT_INVALID (metadata
   * problem): another scheme, not canonical, unreadable, outside the location, or more than 20 MiB.
   */
  read(location: Location, uri: string): Promise<Attachment>
}
