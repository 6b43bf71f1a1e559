import { z } from 'zod'
import type { Plugin } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type JsonOf, noContent } from '../kinds.ts'
import { operation } from '../operation.ts'
import { fromLocationRef, locationHeaders, locationQuery, locationRef, toDirectory } from '../records/location.ts'

/** `Plugin.Info`. */
const pluginInfo = z
  .strictObject({
    id: z.string().optional().meta({ description: 'Absent: it failed before it was known' }),
    source: z.discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('package'),
        target: z.string().meta({ description: 'The configured specifier' }),
        version: z.string().optional(),
        outdated: z.literal(true).optional(),
        updating: z.literal(true).optional(),
      }),
      z.strictObject({ type: z.literal('local'), path: z.string() }),
    ]),
    features: z.strictObject({ server: z.literal(true).optional() }),
    state: z.discriminatedUnion('status', [
      z.strictObject({ status: z.literal('active') }),
      z.strictObject({
        status: z.literal('failed'),
        error: z.string(),
        ref: z.string().optional().meta({ description: 'Also in the log' }),
      }),
    ]),
  })
  .meta({ id: 'Plugin.Info' })

const target = z.string().meta({ description: 'The configured specifier of a package' })

const checkPluginsBody = z.strictObject({
  target: target.nullish().meta({ description: 'Absent or null: all packages' }),
})

const updatePluginsBody = z.strictObject({ targets: z.array(target) })

function fromPlugin({ pluginId, source, failure }: Plugin): JsonOf<typeof pluginInfo> {
  return {
    id: pluginId,
    source: fromSource(source),
    features: { server: true },
    state: failure === undefined ? { status: 'active' } : { status: 'failed', error: failure.error, ref: failure.ref },
  }
}

function fromSource(source: Plugin['source']): JsonOf<typeof pluginInfo>['source'] {
  if (source.case === 'local') return { type: 'local', path: source.value.path }
  if (source.case === undefined) throw new Error('The catalog returned a plugin without an origin')
  const { target, version, outdated, updating } = source.value
  return {
    type: 'package',
    target,
    version,
    outdated: outdated || undefined,
    updating: updating || undefined,
  }
}

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
    return catalog.checkPlugins({ directory, target: target ?? undefined }, call.options())
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
