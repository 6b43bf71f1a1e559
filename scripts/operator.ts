// The store of a deployment, for the operator's commands: they work with or without a running server, because whoever
// can write to the store has the authority. The store is the one that the same environment gives the server.
import { Code, ConnectError } from '@connectrpc/connect'
import type { Organization } from '#gen/portico/identity/v1/federation_pb.js'
import { workspaceUuid } from '#shared/workspace-uuid.ts'
import type { Operator } from './operator-identity.ts'

const PAGE = 100

/**
 * Opens the identity service for the operator. Throws UsageError if there is no store yet, unless the command `makes`
 * one.
 */
export async function openAsOperator(options: { readonly makes: boolean }): Promise<Operator> {
  // Loading it takes most of the time of a command, and the usage needs none of it.
  const { openIdentity } = await import('./operator-identity.ts')
  return openIdentity(options)
}

/** All organizations, oldest first. */
export async function* listOrganizations({ federation, as }: Operator): AsyncGenerator<Organization> {
  for (let offset = 0; ; offset += PAGE) {
    const { organizations } = await federation.listOrganizations({ offset, pageSize: PAGE }, as())
    yield* organizations
    if (organizations.length < PAGE) return
  }
}

/** The id of the workspace that has this id or UUID. */
export async function workspaceIdOf(operator: Operator, name: string): Promise<string> {
  for await (const { workspaceIds } of listOrganizations(operator)) {
    const found = workspaceIds.find((id) => id === name || workspaceUuid(id) === name.toLowerCase())
    if (found !== undefined) return found
  }
  throw new ConnectError(`Workspace not found: ${name}`, Code.NotFound)
}
