import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import { parseRequired } from '#shared/rpc/parse.ts'
import type { Locations } from '../ports/locations.ts'
import type { OpenLocations } from '../run/open-locations.ts'

/** Lets the plugins of a location change a prompt before it is admitted. */
export function editPrompt(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
}): ServiceImpl<typeof CatalogService>['editPrompt'] {
  const { locations, opened } = dependencies
  return async (request, context) => {
    const sessionId = parseRequired('session_id', request.sessionId)
    const location = await locations.resolve(principalOf(context), request.directory)
    const open = opened.open(location)
    using _ = open.use()
    const { plugins, agents: ofLocation, skills: offered } = await open.generation()
    const { text = '', files = [], names, metadata, queued = false } = request.prompt ?? {}
    const prompt = {
      text,
      agents: names?.agents ?? [],
      skills: names?.skills ?? [],
      metadata: metadata ?? {},
      files: files.map(({ uri, name, description }) => ({ uri, name, description })),
      delivery: queued ? ('queue' as const) : ('steer' as const),
    }
    const known = { agents: idsOf(ofLocation.agents), skills: idsOf(offered) }
    const { prompt: edited, changedBy } = await plugins.prompt(prompt, { sessionId, known }, context.signal)
    const { delivery, metadata: wanted, agents, skills } = edited
    // Plugins get an object even if there is none.
    const isNone = metadata === undefined && Object.keys(wanted).length === 0
    const rest = isNone ? {} : { metadata: wanted }
    const named = { agents: [...agents], skills: [...skills] }
    const changed = { text: edited.text, files: [...edited.files], names: named, queued: delivery === 'queue' }
    return { prompt: { ...changed, ...rest }, changedBy: [...changedBy] }
  }
}

function idsOf(all: readonly { readonly id: string }[]): ReadonlySet<string> {
  return new Set(all.map(({ id }) => id))
}
