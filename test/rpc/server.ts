import { createHttp2Transport } from '#shared/http2/transport.ts'
import { serve } from '#shared/process/serve.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { silentLogger, testSecret } from '#test/support/transports.ts'

/** Serves routes on the loopback; `port` 0 is a free one. */
export const serveRoutes = (routes: Routes, options: { port?: number; reflection?: boolean } = {}) =>
  serve({
    routes: [routes],
    host: '127.0.0.1',
    port: 0,
    secret: testSecret,
    logger: silentLogger,
    ...options,
  })

/** A transport to a server of `serveRoutes`. */
export const dial = ({ url }: { readonly url: string }, secret = testSecret) => createHttp2Transport({ url, secret })
