/** How long a unary call may take when its caller names no deadline. Streams have none unless the caller sets one. */
export const DEFAULT_TIMEOUT_MS = 60_000

/** The largest message that crosses a process border: a prompt's attachments (20 MiB each) and room to spare. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

/**
 * How much one connection may have in flight, in megabytes: many large messages at once. Node's own limit of 10 refuses
 * calls as soon as a single large message is being written.
 */
export const CONNECTION_MEMORY_MEGABYTES = 1_024
