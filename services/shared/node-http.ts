const http = process.getBuiltinModule('node:http')

/**
 * What is needed of node:http. An import of it would read every member, and so load the client behind
 * `http.WebSocket`: a twentieth of what a start takes.
 */
export const { createServer, IncomingMessage, ServerResponse, STATUS_CODES } = http
