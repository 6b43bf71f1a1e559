import { noContent } from '../kinds.ts'
import { operation } from '../operation.ts'
import { locationHeaders, locationQuery, toDirectory } from '../records/location.ts'
import { fromLocation } from './mappers.ts'
import { locationInfo } from './schemas.ts'

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
