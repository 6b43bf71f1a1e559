import { z } from 'zod'

/** A string without NUL, which no name, path or pattern has. */
export const name = z
  .string()
  .min(1)
  .regex(/^[^\0]*$/, 'must not contain NUL')

const SESSION_ID = /^ses[^\p{Cc}\p{Cs}]{0,125}$/u
const MESSAGE_ID = /^msg_[^\p{Cc}\p{Cs}]{0,124}$/u

/** Session id: by prefix only (instance facts 3.15), at most 128 characters, none of them a control. */
export const sessionID = z.string().regex(SESSION_ID, 'must be a session id (ses…)')

/** Message id, likewise. */
export const messageID = z.string().regex(MESSAGE_ID, 'must be a message id (msg_…)')

/** The session of a path. */
export const sessionParameter = z.string().regex(SESSION_ID, 'Invalid session ID').meta({ description: 'Session' })

/** The message of a path. */
export const messageParameter = z.string().regex(MESSAGE_ID, 'Invalid message ID').meta({ description: 'Message' })

/** The inbox item of a path. */
export const inboxParameter = z.string().regex(MESSAGE_ID, 'Invalid inbox ID').meta({ description: 'Inbox item' })

/** Whatever else a path names: 1 to 256 characters, none of them a control. */
export const nameParameter = (field: string, description: string) =>
  z
    .string()
    .regex(/^[^\p{Cc}]{1,256}$/u, `Invalid ${field}`)
    .meta({ description })
