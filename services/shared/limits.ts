/** How long a unary call may take when its caller names no deadline. Streams have none unless the caller sets one. */
export const DEFAULT_TIMEOUT_MS = 60_000

/** The largest message that crosses a process border: a prompt's attachments (20 MiB each) and room to spare. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
