import { z } from 'zod'
import { operation } from '../operation.ts'
import { fromLocationRef, locationHeaders, locationQuery, locationRef, toDirectory } from '../records/location.ts'
import { fromPlugin } from './mappers.ts'
import { pluginInfo } from './schemas.ts'

export const listPlugins = operation({
  id: 'plugin.list',
  method: 'get',
  path: '/api/plugin',
  summary: 'Plugins of a location, including failed ones',
  query: locationQuery,
  headers: locationHeaders,
  answer: z.strictObject({ location: locationRef, data: z.array(pluginInfo) }),
  handle: ({ catalog }, { query, headers, call }) =>
    catalog.listPlugins({ directory: toDirectory(query, headers) }, call.options()),
  present: ({ location, plugins }) => ({ location: fromLocationRef(location), data: plugins.map(fromPlugin) }),
})
