// The common part of the operator's commands: they work with or without a running server, because whoever can write to
// the store has the authority. The store is the one that the same environment gives the server.
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { type CallOptions, type Client, Code, ConnectError } from '@connectrpc/connect'
import type { Organization } from '#gen/portico/identity/v1/federation_pb.js'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { ConfigError } from '#shared/config/config-error.ts'
import { workspaceUuid } from '#shared/workspace-uuid.ts'

const PAGE = 100
/** The command line is invalid. */
export class UsageError extends Error {}

/** The identity service, called by the operator. */
export interface Operator extends AsyncDisposable {
  readonly identity: Client<typeof IdentityService>
  readonly federation: Client<typeof FederationService>
  /** Options of a call in a workspace; by default the one that the deployment started with. */
  as(workspaceId?: string): CallOptions
  /** The workspace that the deployment started with. */
  readonly workspaceId: string
}

/**
 * Runs a command line. An invalid one and a rejection are one line; the former is followed by a pointer to the usage,
 * whose first line names the command.
 */
export async function runCommand(usage: string, run: (words: string[]) => Promise<void>): Promise<void> {
  const words = process.argv.slice(2)
  if (words[0] === undefined || words[0] === 'help' || words.includes('--help') || words.includes('-h')) {
    process.stdout.write(usage)
    return
  }
  try {
    await run(words)
  } catch (error) {
    if (error instanceof UsageError) {
      remark(`${error.message}\nSee ${/npm run \S+/.exec(usage)?.[0]} -- help`)
      process.exitCode = 2
    } else if (error instanceof ConnectError || error instanceof ConfigError) {
      remark(error instanceof ConnectError ? error.rawMessage : error.message)
      process.exitCode = 1
    } else {
      throw error
    }
  }
}

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

/** Parses the words of a command line. Throws UsageError, in one line: Node adds advice for other cases. */
export function parseWords<C extends ParseArgsConfig>(config: C): ReturnType<typeof parseArgs<C>> {
  try {
    return parseArgs(config)
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    const [, option] = /'(-[^ ']+)/.exec(message) ?? []
    const lacksValue = code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE' && option !== undefined
    throw new UsageError(lacksValue ? `${option} requires a value` : message.replace(/\. .*/s, ''))
  }
}

/** Prints a line for people. */
export function remark(text: string): void {
  process.stderr.write(`${text}\n`)
}
