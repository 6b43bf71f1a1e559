import { readlink } from 'node:fs/promises'
import type { ListPluginsResponse } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { type CatalogFixture, processesWith } from './catalog.ts'

/** The processes that plugins of its project run in. */
export async function hostsOf({ project }: CatalogFixture): Promise<number[]> {
  const hosts = await processesWith('plugins/host/host.ts')
  const places = await Promise.all(hosts.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')))
  return hosts.filter((_, i) => places[i] === project)
}

/** The plugins by the names of their modules: `active`, or the error. */
export function states({ plugins }: ListPluginsResponse): Record<string, string> {
  return Object.fromEntries(
    plugins.map(({ source, failure }) => {
      const name = source.case === 'local' ? (source.value.path.split('/').at(-1) ?? '') : (source.value?.target ?? '')
      return [name, failure?.error ?? 'active']
    }),
  )
}
