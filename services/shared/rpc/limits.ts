/** How long a unary call may take if its caller sets no deadline. Streams have none unless the caller sets one. */
export const DEFAULT_TIMEOUT_MS = 60_000

/** The largest message between processes: the attachments of a prompt (20 MiB each), with room to spare. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

/**
 * How many megabytes one connection may have in flight, enough for many large messages at once. Node's default of 10
 * refuses calls while a single large message is being written.
 */
export const CONNECTION_MEMORY_MEGABYTES = 1_024
