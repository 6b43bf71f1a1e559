import { mongoSchema } from '#shared/stores/mongo-table.ts'
import { sqliteSchema } from '#shared/stores/sqlite-table.ts'
import { activity } from './tables/activity.ts'
import { blobs, blobUses, looseBlobs } from './tables/blobs.ts'
import { events, expired, log, workspaces } from './tables/events.ts'
import { inbox } from './tables/inbox.ts'
import { messages, parts } from './tables/messages.ts'
import { approvals, requests } from './tables/permissions.ts'
import { hiddenSessions, sessions } from './tables/sessions.ts'

const TABLES = [
  ...[sessions, hiddenSessions, inbox, messages, parts, events, activity, requests, approvals],
  ...[blobUses, looseBlobs, blobs, log, workspaces, expired],
]

export const SQLITE = sqliteSchema(TABLES)

/** The schema of what the session service has in MongoDB, blobs included. */
export const MONGO = mongoSchema('session', TABLES)
