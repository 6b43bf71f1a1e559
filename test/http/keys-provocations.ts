import type { AnyReason } from '#shared/rejection.ts'

interface Provocation {
  readonly path?: string
  readonly body?: unknown
  readonly by?: 'stubs'
}

const missing = { path: `/api/v1/keys/${'f'.repeat(64)}` }
const elsewhere = 'wrk_other'

/** How each error of an operation on keys and models is provoked. What the gateway itself refuses needs no services. */
export const KEYS: Readonly<Record<string, Partial<Record<AnyReason, Provocation>>>> = {
  'keys.getOwn': { API_KEY_NOT_FOUND: { path: '/api/v1/key', by: 'stubs' } },
  'keys.list': { WORKSPACE_NOT_FOUND: { path: `/api/v1/keys?workspace_id=${elsewhere}`, by: 'stubs' } },
  'keys.create': {
    REQUEST_INVALID: { body: { name: '' } },
    WORKSPACE_NOT_FOUND: { body: { name: 'a', workspace_id: elsewhere }, by: 'stubs' },
  },
  'keys.get': { API_KEY_NOT_FOUND: missing },
  'keys.update': {
    API_KEY_NOT_FOUND: { ...missing, body: { disabled: true } },
    REQUEST_INVALID: { ...missing, body: {}, by: 'stubs' },
  },
  'keys.delete': { API_KEY_NOT_FOUND: missing },
  'models.get': { ROUTE_NOT_FOUND: { path: '/api/v1/model/a/b', by: 'stubs' } },
  'models.retrieve': { ROUTE_NOT_FOUND: { path: '/api/v1/models/a/b', by: 'stubs' } },
  'models.retrieveById': { ROUTE_NOT_FOUND: { path: '/api/v1/models/a%2Fb', by: 'stubs' } },
  'models.endpoints': { ROUTE_NOT_FOUND: { path: '/api/v1/models/a/b/endpoints', by: 'stubs' } },
}
