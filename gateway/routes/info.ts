import type { Facade, Route } from '../facade.ts'
import { sendJson } from '../http/respond.ts'

/** server.info: `ServerInfo` (`contract/instance-facts.md` 1.2). It answers only when the server is ready. */
export function infoRoutes({ config, urls }: Facade): Route[] {
  return [
    {
      operation: 'server.info',
      method: 'get',
      path: '/api/info',
      handle(_, response) {
        const { paths, version } = config
        sendJson(response, 200, { version, pid: process.pid, urls: urls(), paths, status: 'ready' })
      },
    },
  ]
}
