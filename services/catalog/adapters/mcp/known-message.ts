import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isObject } from '#shared/json.ts'

const NOTIFICATIONS = new Set(['notifications/tools/list_changed', 'notifications/progress', 'notifications/cancelled'])

/**
 * Parses a message of a server if it matters here: a response, a request, or one of a few notifications. Undefined:
 * anything else, including text that is not a message, which servers do print where messages belong.
 */
export function knownMessage(text: string): JSONRPCMessage | undefined {
  // Text that is not an object is not worth an exception.
  if (!/^\s*\{/.test(text)) return undefined
  const value = parsed(text)
  if (!isObject(value) || value.jsonrpc !== '2.0') return undefined
  const wanted = isId(value.id) || (value.id === undefined && NOTIFICATIONS.has(String(value.method)))
  return wanted ? (value as JSONRPCMessage) : undefined
}

function isId(id: unknown): boolean {
  return typeof id === 'number' || typeof id === 'string'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
