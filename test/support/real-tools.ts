import { PermissionRule_Effect as Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Routes } from '#shared/rpc/routes.ts'
import { type CatalogFixture, openCatalog } from '#test/support/catalog.ts'
import { scriptedPeers } from '#test/support/session-peers.ts'
import { asKey, openSessionService, type SessionFixture } from '#test/support/session-service.ts'

/** A session service with a scripted model and the real catalog. */
export interface RealTools extends AsyncDisposable {
  readonly catalog: CatalogFixture
  readonly service: SessionFixture
  /** Creates a session in the catalog's project, `ses_1` by default. */
  create(session?: {
    readonly id?: string
    readonly permissions?: readonly string[]
    readonly agent?: string
  }): Promise<void>
}

/**
 * Opens both, with folders of their own. A rule is written as `edit src/* allow`. `wrap` wraps the catalog's routes
 * that the session service calls.
 */
export async function openRealTools(wrap = (routes: Routes): Routes => routes): Promise<RealTools> {
  await using opening = new AsyncDisposableStack()
  const catalog = opening.use(await openCatalog({ roots: { wrk_1: ['/'], wrk_2: ['/'] } }))
  const peers = Object.assign(scriptedPeers(), { catalog: wrap(catalog.routes) })
  const service = opening.use(await openSessionService({ peers }))
  const resources = opening.move()
  return {
    catalog,
    service,
    create: async ({ id = 'ses_1', permissions = [], agent } = {}) => {
      const rules = permissions.map((rule) => {
        const [action = '', resource = '', effect = ''] = rule.split(' ')
        return { action, resource, effect: EFFECTS[effect as keyof typeof EFFECTS] }
      })
      const session = { sessionId: id, agent, directory: catalog.project, permissions: { rules } }
      await service.client.createSession({ title: 'Test', ...session }, asKey)
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const EFFECTS = { allow: Effect.ALLOW, deny: Effect.DENY, ask: Effect.ASK }
