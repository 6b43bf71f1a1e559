// Writes the import matrix (who may import whom) into biome.json. Usage: lint-matrix.ts [--check]
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Who may import what. An override in Biome replaces the ones before it, so each row is complete. */
export interface MatrixRow {
  readonly name: string
  readonly files: readonly string[]
  /** Patterns that may be imported; one with a leading `-` excludes a part of an earlier one. */
  readonly allow: readonly string[]
}

const KERNEL = ['#shared/**', '-#shared/stores/sqlite*.ts', '-#shared/stores/mongo*.ts']
const CONNECT = ['@bufbuild/protobuf', '@bufbuild/protobuf/**', '@connectrpc/connect', '#gen/**']
/** What every feature of the facade may import. */
const FEATURE = [
  ...[
    '../records/**',
    '../generation/**',
    '../operation.ts',
    '../credentials.ts',
    '../kinds.ts',
    '../shape.ts',
    '../call.ts',
    '../clients.ts',
  ],
  ...['../errors/{schemas,provider,error-table}.ts', '../http/{sse,lifecycle,json-gauge,check,parse-json}.ts'],
  ...[
    '#shared/{ids,clock,json,rejection,workspace-uuid}.ts',
    '#shared/rpc/{enum-table,call-context,field-limits}.ts',
    '#shared/broadcast/**',
  ],
  ...['#shared/telemetry/tracing.ts', 'node:timers/promises', 'node:{fs,events,worker_threads}', 'zod'],
  ...CONNECT,
]

const SERVICES = ['session', 'catalog', 'inference', 'identity']

const DRIVERS = [
  ...[
    'pino',
    'mongodb',
    'undici',
    'eventsource-parser',
    'ajv',
    'yaml',
    'jsonc-parser',
    'lru-cache',
    'ignore',
    'cel-js',
  ],
  ...['@modelcontextprotocol/client', '@pydantic/genai-prices', 'semver', 'jose'],
]

/** The services that one calls for every step, whose records are its own as well. */
const CALLED: Readonly<Record<string, readonly string[]>> = {
  session: ['catalog', 'inference'],
  inference: ['identity'],
}

/** The records of a service, and of those that it calls for every step. */
function recordsOf(service: string): string[] {
  const services = [service, ...(CALLED[service] ?? [])]
  return [...services.map((each) => `#gen/portico/${each}/v1/*_pb.js`), '@bufbuild/protobuf', '@bufbuild/protobuf/wkt']
}

/** What every adapter of a service may import. */
function adapterOf(service: string): string[] {
  const own = ['domain', 'ports', 'adapters'].map((folder) => `#services/${service}/${folder}/**`)
  return ['./**', '../**', ...own, ...recordsOf(service), '#shared/**', 'node:*', 'node:*/*', ...DRIVERS]
}

const COMMAND = [
  ...['./**', '#shared/**', '#gen/**', '#services/*/{open,config}.ts', 'node:*', 'node:*/*', 'zod'],
  ...['@bufbuild/protobuf', '@bufbuild/protobuf/**', '@connectrpc/connect'],
]

const MATRIX: readonly MatrixRow[] = [
  {
    name: 'the kernel knows no service',
    files: ['services/shared/**'],
    allow: [
      ...['./**', '#shared/**', '#gen/**', 'node:*', 'node:*/*', '@bufbuild/**', '@connectrpc/**', '@grpc/**'],
      ...['@opentelemetry/**', 'pino', 'zod', 'mongodb'],
    ],
  },
  ...SERVICES.flatMap((service) => {
    const records = recordsOf(service)
    const kernel = ['#shared/{json,permission-pattern,text-tokens}.ts', '#shared/rpc/field-limits.ts']
    return [
      {
        name: 'a domain knows itself, the records of its service and their limits, JSON, the patterns of rules, and the tokens of a text',
        files: [`services/${service}/domain/**`],
        allow: ['./**', ...records, ...kernel],
      },
      {
        name: 'a folder of a domain knows the domain, the records of its service and their limits, JSON, the patterns of rules and the tokens of a text',
        files: [`services/${service}/domain/*/**`],
        allow: ['./**', '../**', ...records, ...kernel],
      },
      {
        name: 'ports know their domain, the records of their service and the kernel',
        files: [`services/${service}/ports/**`],
        allow: ['./**', '../domain/**', ...records, ...KERNEL],
      },
    ]
  }),
  {
    name: 'handlers and runs know domain, ports, kernel and generated code',
    files: ['services/*/rpc/**', 'services/*/run/**', '!services/shared/**'],
    allow: [
      './**',
      '../domain/**',
      '../run/**',
      '../ports/**',
      '../reasons.ts',
      'node:async_hooks',
      'node:crypto',
      ...KERNEL,
      ...CONNECT,
    ],
  },
  ...SERVICES.map((service) => ({
    name: 'handlers and runs in folders know the same',
    files: [`services/${service}/rpc/*/**`, `services/${service}/run/*/**`],
    allow: [
      ...['./**', '../**', 'node:async_hooks', 'node:crypto', ...KERNEL, ...CONNECT],
      ...['domain', 'run', 'ports'].map((folder) => `#services/${service}/${folder}/**`),
    ],
  })),
  {
    name: 'routes only merge handlers',
    files: ['services/*/routes.ts', 'services/*/reasons.ts'],
    allow: ['./rpc/**', './run/**', './domain/**', './ports/**', './reasons.ts', ...KERNEL, ...CONNECT],
  },
  ...SERVICES.flatMap((service) => [
    {
      name: 'adapters know the domain and the ports of their own service, the kernel and drivers',
      files: [`services/${service}/adapters/**`],
      allow: adapterOf(service),
    },
    ...Object.entries({ sqlite: 'mongo', mongo: 'sqlite' }).map(([store, other]) => ({
      name: 'what is stored in one way knows nothing of the other',
      files: [`services/${service}/adapters/${store}/**`],
      allow: [...adapterOf(service), `-../${other}/**`, `-#services/${service}/adapters/${other}/**`],
    })),
    {
      name: 'adapters of peers also know generated code',
      files: [`services/${service}/adapters/rpc/**`, `services/${service}/adapters/rpc-*.ts`],
      allow: [...adapterOf(service), ...CONNECT],
    },
  ]),
  {
    name: 'adapters that start processes also know the places for these',
    files: ['services/catalog/adapters/{mcp,plugins}/**'],
    allow: [...adapterOf('catalog'), '#services/catalog/run/process-places.ts'],
  },
  {
    name: 'adapters of providers also know how these are configured',
    files: ['services/inference/adapters/providers/**'],
    allow: [...adapterOf('inference'), '#services/inference/config-file.ts'],
  },
  {
    name: 'a config reads the environment',
    files: ['services/*/config.ts', 'services/*/config-file.ts', 'services/*/config-models.ts'],
    allow: [
      './domain/**',
      './config-file.ts',
      './config-models.ts',
      'node:*',
      'node:*/*',
      'zod',
      'jsonc-parser',
      '@bufbuild/protobuf',
      '#gen/portico/inference/v1/inference_pb.js',
      ...KERNEL,
    ],
  },
  {
    name: 'open chooses adapters',
    files: ['services/*/open.ts', 'services/*/open-*.ts'],
    allow: [
      ...[
        './adapters/**',
        './domain/**',
        './run/**',
        './ports/**',
        './routes.ts',
        './config.ts',
        './rpc/*-service.ts',
        './open-*.ts',
      ],
      ...['#shared/**', 'node:*', 'node:*/*', 'pino', ...CONNECT],
    ],
  },
  {
    name: 'an entry file opens and serves',
    files: ['services/*/main.ts'],
    allow: ['./config.ts', './open.ts', 'node:*', 'node:*/*', ...KERNEL],
  },
  {
    name: 'the facade knows no service, only contracts',
    files: ['gateway/**'],
    allow: [
      './**',
      '../**',
      'node:*',
      'node:*/*',
      'express',
      'zod',
      'pino',
      '@opentelemetry/api',
      ...KERNEL,
      ...CONNECT,
    ],
  },
  {
    name: 'a feature of the facade knows the records and how operations are said, no other feature and no Express',
    files: ['gateway/*/**', '!gateway/{app,auth,errors,generation,http,records}/**', '!gateway/*/*/**'],
    allow: ['./**', ...FEATURE],
  },
  {
    name: 'a folder within a feature of the facade knows the feature as well',
    files: ['gateway/*/*/**'],
    allow: ['./**', '../*.ts', ...FEATURE.map((pattern) => pattern.replace(/^\.\.\//, '#gateway/'))],
  },
  {
    name: 'records of the facade know only how JSON is said',
    files: ['gateway/records/**'],
    allow: [
      './**',
      '../kinds.ts',
      '../shape.ts',
      '#shared/{ids,json,rejection}.ts',
      '#shared/rpc/enum-table.ts',
      'node:crypto',
      'zod',
      ...CONNECT,
    ],
  },
  {
    name: 'presets know what each dialect says of a body',
    files: ['gateway/presets/**'],
    allow: ['./**', ...FEATURE, '../{chat,messages,responses}/{body,public-field,to-settings}.ts'],
  },
  {
    name: 'what dialects of generation share knows how JSON is said, and no dialect',
    files: ['gateway/generation/**'],
    allow: [
      ...['./**', '../records/**', '../kinds.ts', '../shape.ts', '../call.ts', '../clients.ts'],
      '../http/json-gauge.ts',
      ...['../errors/{schemas,provider,error-table}.ts', '#shared/{ids,clock,json,reasons,rejection}.ts'],
      ...['#shared/rpc/{enum-table,field-limits}.ts', 'zod'],
      ...CONNECT,
    ],
  },
  {
    name: 'errors of the facade know reasons',
    files: ['gateway/errors/**'],
    allow: [
      ...['./**', '../{call,family}.ts', '../records/router-metadata.ts', '#shared/{reasons,rejection}.ts'],
      ...['node:crypto', 'pino', 'zod'],
      ...CONNECT,
    ],
  },
  {
    name: 'what says operations knows no Express and no feature',
    files: ['gateway/{operation,credentials,kinds,operation-errors,shape,facade,clients,readiness,welcome}.ts'],
    allow: ['./*.ts', './errors/**', './http/{lifecycle,sse}.ts', 'pino', 'zod', ...KERNEL, ...CONNECT],
  },
  {
    name: 'the command line knows the kernel, and every open.ts and config.ts',
    files: ['cli/**'],
    allow: [...COMMAND, 'mongodb'],
  },
  {
    name: 'checks and generators know the same, the facade, and what tests share',
    files: ['dev/**'],
    allow: [...COMMAND, '#gateway/**', '#test/**', '../package.json', 'zod-openapi', 'mongodb-memory-server-core'],
  },
  {
    name: 'the single process knows every open.ts and the facade',
    files: ['main.ts'],
    allow: [
      './services/*/open.ts',
      './services/*/config.ts',
      './gateway/**',
      'node:*',
      'node:*/*',
      ...KERNEL,
      ...CONNECT,
    ],
  },
]

/** The overrides in biome.json. `../../` is forbidden everywhere; tests and benchmarks may import everything else. */
export function overrides(): unknown[] {
  return [
    override(['**'], ['../../**'], 'Use the imports of package.json instead of ../../'),
    ...MATRIX.map(({ name, files, allow }) => {
      const turned = allow.map((pattern) => (pattern.startsWith('-') ? pattern.slice(1) : `!${pattern}`))
      return override([...files, '!**/*.test.ts'], ['**', ...turned, '../../**'], `Import matrix: ${name}.`)
    }),
  ]
}

function override(includes: string[], group: string[], message: string): unknown {
  const noRestrictedImports = { level: 'error', options: { patterns: [{ group, message }] } }
  return { includes, linter: { rules: { style: { noRestrictedImports } } } }
}

if (import.meta.main) {
  const path = fileURLToPath(new URL('../biome.json', import.meta.url))
  const before = JSON.parse(readFileSync(path, 'utf8')) as { overrides: unknown[] }
  const others = before.overrides.filter((entry) => !JSON.stringify(entry).includes('noRestrictedImports'))
  const after = { ...before, overrides: [...others, ...overrides()] }
  if (JSON.stringify(before) !== JSON.stringify(after)) {
    if (process.argv.includes('--check')) {
      process.stderr.write('biome.json is not in step with dev/lint-matrix.ts: run npm run generate\n')
      process.exitCode = 1
    } else {
      writeFileSync(path, `${JSON.stringify(after, null, 2)}\n`)
    }
  }
}
