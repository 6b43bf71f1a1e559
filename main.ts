// `npm start [-- DIR]`: the single process, with every service in memory, the stores of the environment, and the
// gateway.
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '#shared/clock.ts'
import { readTogether } from '#shared/config/config.ts'
import { ConfigError } from '#shared/config/config-error.ts'
import { beginProcess } from '#shared/process/begin-process.ts'
import { leave } from '#shared/process/leave.ts'
import { readSingleProcessConfig } from '#shared/process/process-config.ts'
import { runUntilSignal } from '#shared/process/run-until-signal.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { migrateStores } from '#shared/stores/migrate-stores.ts'
import { lockStores, noteWholeStores, requireWholeStores } from '#shared/stores/store-files.ts'
import { createApp } from './gateway/app/app.ts'
import { createClients } from './gateway/clients.ts'
import { readConfig as readGatewayConfig } from './gateway/config.ts'
import { listen } from './gateway/http/listen.ts'
import { ownReadiness } from './gateway/readiness.ts'
import { welcome } from './gateway/welcome.ts'
import { readConfig as readCatalogConfig } from './services/catalog/config.ts'
import { open as openCatalog } from './services/catalog/open.ts'
import { readConfig as readIdentityConfig } from './services/identity/config.ts'
import { storeSchema as identitySchema, open as openIdentity } from './services/identity/open.ts'
import { readConfig as readInferenceConfig } from './services/inference/config.ts'
import { storeSchema as inferenceSchema, open as openInference } from './services/inference/open.ts'
import { readConfig as readSessionConfig } from './services/session/config.ts'
import { open as openSession, storeSchema as sessionSchema } from './services/session/open.ts'

/** Time for ending tools and closing stores once requests and runs have ended, in milliseconds. */
const CLOSE_MS = 5_000
const stop = {
  shutdownMs: CLOSE_MS,
  onStopping: (signal: NodeJS.Signals) => {
    process.stderr.write(signal === 'SIGINT' ? 'Stopping; press Ctrl-C again to end at once\n' : 'Stopping\n')
  },
}

const USAGE = `Usage: npm start [-- DIR]
DIR is the default project directory; without it, the current one is used. Everything else is configured with
environment variables, which docs/configuration.md lists.
`

const [word, ...rest] = process.argv.slice(2)
if (word?.startsWith('-') || rest.length > 0) {
  const wantsHelp = word === '--help' || word === '-h'
  ;(wantsHelp ? process.stdout : process.stderr).write(USAGE)
  process.exit(wantsHelp ? 0 : 2)
}
await runUntilSignal(start, stop)

async function start(resources: AsyncDisposableStack): Promise<void> {
  // npm runs scripts in the package's folder, and passes its user's directory in INIT_CWD.
  const project = resolve(process.env.INIT_CWD ?? '.', word ?? process.env.PORTICO_DIRECTORY ?? '.')
  const env = { PORTICO_LOG_LEVEL: 'warn', ...process.env, PORTICO_DIRECTORY: project }
  const config = readTogether(env, {
    project: () => requireProject(word, project),
    process: readSingleProcessConfig,
    gateway: readGatewayConfig,
    identity: readIdentityConfig,
    inference: readInferenceConfig,
    catalog: readCatalogConfig,
    session: readSessionConfig,
  })
  stop.shutdownMs = config.process.unreadyMs + config.process.drainMs + CLOSE_MS
  const clock = systemClock
  const begun = { settings: config, process: config.process, env: process.env }
  const { logger, opened } = await beginProcess('portico', begun, resources)
  const listener = await listen(config.gateway, logger)

  resources.use(lockStores(config.session.store))
  requireWholeStores(config.session.store)
  await migrateStores(config.session.store, [sessionSchema, inferenceSchema, identitySchema], reportStep)
  const identity = resources.use(await openIdentity(config.identity, { clock, logger, gatewayOrigin: listener.url }))
  const { createdManagementKey, createdApiKey, workspaceId } = identity.bootstrap
  let areKeysPrinted = false
  resources.defer(() => {
    // Keys that this start created exist even if something after them fails.
    const keys = [createdManagementKey, createdApiKey].filter((key) => key !== undefined)
    if (!areKeysPrinted && keys.length > 0) process.stderr.write(`Keys, shown only once: ${keys.join(' ')}\n`)
  })
  const toIdentity = createLocalTransport(identity.routes)
  const inference = resources.use(await openInference(config.inference, { clock, logger, identity: toIdentity }))
  const toInference = createLocalTransport(inference.routes)
  const { store } = config.session
  const inData = (name: string) => (store.kind === 'sqlite' ? { [name]: join(store.directory, name) } : {})
  const folders = { ...inData('scratch'), ...inData('plugins') }
  const catalog = resources.use(await openCatalog(config.catalog, { clock, logger, ...folders }))
  const toCatalog = createLocalTransport(catalog.routes)
  const peers = { catalog: toCatalog, inference: toInference }
  const session = resources.use(await openSession(config.session, { clock, logger, ...peers }))
  noteWholeStores(config.session.store)
  opened()

  // Registered last, so that it ends first: no request finds its service gone.
  resources.use(listener)
  resources.defer(() => leave(config.process, [listener, session]))
  const clients = createClients({ ...peers, identity: toIdentity, session: createLocalTransport(session.routes) })
  listener.serve(
    createApp({
      config: config.gateway,
      clients,
      clock,
      logger,
      lifecycle: listener.lifecycle,
      readiness: ownReadiness({
        identity: identity.routes.store,
        catalog: catalog.routes.store,
        session: session.routes.store,
        inference: inference.routes.store,
      }),
      urls: () => [listener.url],
    }),
  )
  const { providers, defaultModel } = config.inference
  const closed = config.gateway.auth.mode === 'bearer' && Object.keys(config.catalog.roots).length === 0
  const passwordFile = process.env.PORTICO_BASIC_PASSWORD_FILE
  const roots = JSON.stringify({ [workspaceId]: [project] })
  process.stdout.write(
    welcome({
      url: listener.url,
      auth: config.gateway.auth,
      password: passwordFile ? `$(cat ${quote(resolve(passwordFile))})` : '$PORTICO_BASIC_PASSWORD',
      project,
      rootsNeeded: closed ? `PORTICO_PROJECT_ROOTS=${quote(roots)}` : undefined,
      keys: { management: createdManagementKey, api: createdApiKey },
      providers: [...providers.map(({ id }) => id), 'portico'],
      defaultModel,
      keyCommand: keyCommand(),
    }),
  )
  areKeysPrinted = true
}

/** Refuses a default project that is not a directory; it comes from the command line, or from a setting. */
function requireProject(named: string | undefined, project: string): void {
  if (statSync(project, { throwIfNoEntry: false })?.isDirectory() === true) return
  const variable = named === undefined ? 'PORTICO_DIRECTORY' : 'DIR (of npm start -- DIR)'
  throw new ConfigError([{ variable, problem: `${project} is not a directory` }])
}

/** The command that creates a key from any folder, in the same store as this process. */
function keyCommand(): string {
  const { PORTICO_MONGODB_URI, ...named } = process.env
  const store = ['PORTICO_DATA_DIR', 'PORTICO_MONGODB_DATABASE', 'PORTICO_MONGODB_URI_FILE']
    .filter((name) => named[name] !== undefined)
    .map((name) => `${name}=${quote(named[name] ?? '')} `)
  // The URI may contain a password, and is not repeated.
  if (PORTICO_MONGODB_URI) store.push(`PORTICO_MONGODB_URI="\${PORTICO_MONGODB_URI:?}" `)
  return `${store.join('')}npm --prefix ${quote(import.meta.dirname)} run --silent key -- create`
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Shows people why a start takes longer than usual. */
function reportStep(line: string): void {
  process.stderr.write(`${line}\n`)
}
