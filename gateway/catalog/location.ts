import { z } from 'zod'
import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type JsonOf, noContent } from '../kinds.ts'
import { operation } from '../operation.ts'
import { locationHeaders, locationQuery, toDirectory } from '../records/location.ts'

/** `Location.PublicInfo`. */
const locationInfo = z
  .strictObject({
    directory: z.string(),
    project: z.strictObject({ id: z.string(), directory: z.string(), canonical: z.string() }),
  })
  .meta({ id: 'Location.PublicInfo' })

function fromLocation(location: Location | undefined): JsonOf<typeof locationInfo> {
  if (location === undefined) throw new Error('The catalog returned no location')
  const { directory, projectId, projectDirectory, canonicalDirectory } = location
  return { directory, project: { id: projectId, directory: projectDirectory, canonical: canonicalDirectory } }
}

export const getLocation = operation({
  id: 'location.get',
  method: 'get',
  path: '/api/location',
  summary: 'Resolves the requested or the default location',
  query: locationQuery,
  headers: locationHeaders,
  answer: locationInfo,
  handle: ({ catalog }, { query, headers, call }) =>
    catalog.resolveLocation({ directory: toDirectory(query, headers) }, call.options()),
  present: ({ location }) => fromLocation(location),
})

export const reloadLocations = operation({
  id: 'location.reload',
  method: 'post',
  path: '/api/location/reload',
  summary: 'Rebuilds every open location; returns when all were rebuilt or have failed',
  answer: noContent,
  errors: ['LOCATION_RELOAD_FAILED', 'PEER_UNAVAILABLE'],
  handle: ({ session }, { call }) => session.reloadLocations({}, call.options()),
})
