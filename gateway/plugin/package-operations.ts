import { z } from 'zod'
import { noContent } from '../kinds.ts'
import { operation } from '../operation.ts'
import { fromLocationRef, locationHeaders, locationQuery, locationRef, toDirectory } from '../records/location.ts'
import { fromPlugin } from './mappers.ts'
import { checkPluginsBody, updatePluginsBody } from './package-schemas.ts'
import { pluginInfo } from './schemas.ts'

const location = { query: locationQuery, headers: locationHeaders } as const

/** A package takes at most two minutes; four are installed at a time. */
const UPDATE_MS = 600_000

export const checkPlugins = operation({
  id: 'plugin.check',
  method: 'post',
  path: '/api/plugin/check',
  summary: 'Checks one or all plugins that are packages for newer versions',
  description:
    'Returns all plugins of the location, like `GET /api/plugin`. If the registry has no information about a plugin, its state does not change.',
  ...location,
  body: checkPluginsBody,
  answer: z.strictObject({ location: locationRef, data: z.array(pluginInfo) }),
  errors: ['PLUGIN_NOT_FOUND'],
  handle: ({ catalog }, { query, headers, body, call }) => {
    const { target } = body
    const directory = toDirectory(query, headers)
    return catalog.checkPlugins({ directory, ...(target != null && { target }) }, call.options())
  },
  present: ({ location, plugins }) => ({ location: fromLocationRef(location), data: plugins.map(fromPlugin) }),
})

export const updatePlugins = operation({
  id: 'plugin.update',
  method: 'post',
  path: '/api/plugin/update',
  summary: 'Updates plugins that are packages',
  description:
    'Concurrently, and for all locations; returns when each was updated or has failed. Open locations continue with the new versions (`plugin.updated`).',
  ...location,
  deadlineMs: UPDATE_MS,
  body: updatePluginsBody,
  answer: noContent,
  errors: ['PLUGIN_NOT_FOUND', 'PLUGINS_NOT_UPDATED'],
  handle: ({ catalog }, { query, headers, body, call }) =>
    catalog.updatePlugins({ directory: toDirectory(query, headers), targets: body.targets }, call.options()),
})
