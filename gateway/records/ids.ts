import { z } from 'zod'
import { idPattern } from '#shared/ids.ts'
import { refinedBy } from '../shape.ts'

/** A string without NUL, which no name, path or pattern has. */
export const name = z
  .string()
  .min(1)
  // Not by a regular expression: a file within a URI has millions of characters.
  .check(
    refinedBy((text, context) => {
      if (text.includes('\0')) context.addIssue({ code: 'custom', message: 'must not contain NUL' })
    }),
  )
  .meta({ pattern: '^[^\\0]*$' })

const SESSION_ID = idPattern('ses')
const MESSAGE_ID = idPattern('msg_')

/** Session id: what follows the prefix is free. */
export const sessionID = z.string().regex(SESSION_ID, 'must be a session id (ses…)')

export const messageID = z.string().regex(MESSAGE_ID, 'must be a message id (msg_…)')

export const sessionParameter = sessionID.meta({ description: 'Session' })

export const messageParameter = messageID.meta({ description: 'Message' })

export const inboxParameter = messageID.meta({ description: 'Inbox item' })

/** Any other path parameter: 1 to 256 characters without control characters. */
export const nameParameter = (description: string) =>
  z
    .string()
    .regex(/^[^\p{Cc}]{1,256}$/u, 'must be 1 to 256 characters without control characters')
    .meta({ description })

export const workspaceId = z.uuid().meta({ description: 'The same for as long as the workspace exists' })
