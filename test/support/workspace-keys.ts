import { hash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Organization_Plan } from '#gen/portico/identity/v1/federation_pb.js'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import type { Portico } from './portico.ts'

/** A key of a workspace, as it was given to somebody. */
export interface WorkspaceKey {
  readonly workspace: string
  /** The key's id. */
  readonly id: string
  readonly secret: string
}

/**
 * Adds workspaces with keys to the store of a running server of a single process, as somebody does who has the file:
 * ids and secrets are the caller's choice, which no command allows. Gives the open database.
 */
export function addWorkspaceKeys(portico: Portico, keys: readonly WorkspaceKey[]): DatabaseSync {
  const database = new DatabaseSync(join(dirname(portico.project), 'data', 'identity.sqlite'))
  database.exec(`INSERT INTO organizations (organizationId, name, plan, createTime, lastPosition)
    VALUES ('org_1', 'o', ${Organization_Plan.ENTERPRISE}, 1, 0)`)
  const workspaces = database.prepare(`INSERT OR IGNORE INTO workspaces
    (workspaceId, organizationId, name, bootstrap, lastSeq, createTime) VALUES (?, 'org_1', 'w', 0, 1, 1)`)
  const insert = database.prepare(`INSERT INTO api_keys
    (workspaceId, keyId, seq, hash, kind, name, prefix, disabled, createTime, updateTime, terms)
    VALUES (?, ?, ?, ?, ${Principal_Kind.WORKSPACE}, 'k', 'sk', 0, 1, 1, '{}')`)
  for (const [i, { workspace, id, secret }] of keys.entries()) {
    workspaces.run(workspace)
    insert.run(workspace, id, i + 1, hash('sha256', secret, 'hex'))
  }
  return database
}
