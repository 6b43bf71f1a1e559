import { z } from 'zod'
import { operation } from '../operation.ts'
import { fromLocation, toDirectory } from './mappers.ts'
import { locationHeaders, locationInfo, locationQuery } from './schemas.ts'

export const getLocation = operation({
  id: 'location.get',
  method: 'get',
  path: '/api/location',
  family: 'instance',
  summary: 'Resolves the requested or the default location',
  query: z.object(locationQuery),
  headers: z.object(locationHeaders),
  answer: locationInfo,
  errors: ['LOCATION_INVALID', 'LOCATION_NOT_FOUND', 'LOCATION_FORBIDDEN'],
  handle: ({ catalog }, { query, headers, call }) =>
    catalog.resolveLocation({ directory: toDirectory(query, headers) }, call.options()),
  present: ({ location }) => fromLocation(location),
})
