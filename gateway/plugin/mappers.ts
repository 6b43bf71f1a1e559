import type { Plugin } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { JsonOf } from '../kinds.ts'
import type { pluginInfo } from './schemas.ts'

export function fromPlugin({ pluginId, source, failure }: Plugin): JsonOf<typeof pluginInfo> {
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
    ...(outdated && { outdated: true }),
    ...(updating && { updating: true }),
  }
}
