import { hash } from 'node:crypto'

/** The namespace of workspace UUIDs, generated once at random. */
const NAMESPACE = Buffer.from('b7a0a9c2f1d54e0d9a3c6d5b8e4f7102', 'hex')

/**
 * The UUID by which all of `/api/v1` shows a workspace: it follows from the id, so that it never changes (RFC 9562,
 * version 5).
 */
export function workspaceUuid(workspaceId: string): string {
  const bytes = hash('sha1', Buffer.concat([NAMESPACE, Buffer.from(workspaceId)]), 'buffer').subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
