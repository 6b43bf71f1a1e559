import { callOf } from '../call.ts'
import type { Facade, Route } from '../facade.ts'
import { readQuery, requestDirectory } from '../http/query.ts'
import { sendJson } from '../http/respond.ts'
import { locationInfo } from '../schemas/location.ts'

/** Resolves the requested or the default location. */
export function locationRoutes({ clients }: Facade): Route[] {
  return [
    {
      operation: 'location.get',
      method: 'get',
      path: '/api/location',
      async handle(request, response) {
        const directory = requestDirectory(request, readQuery(request))
        const { location } = await clients.catalog.resolveLocation({ directory }, callOf(response).options())
        sendJson(response, 200, locationInfo(location))
      },
    },
  ]
}
