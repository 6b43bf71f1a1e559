import { createHmac } from 'node:crypto'

/**
 * What a provider learns about a session: the same text for each of its requests, so that they find the same cache, and
 * nothing else. The workspace's id, which is random and unknown to providers, is the salt.
 */
export function sessionDigest(workspaceId: string, sessionId: string): string {
  return createHmac('sha256', workspaceId).update(sessionId).digest('base64url')
}
