import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

/** One planted import for each row of the matrix: the file it is put in, and what it imports. */
const PLANTED: readonly (readonly [file: string, specifier: string])[] = [
  ['services/shared/a.ts', '#services/session/ports.ts'],
  ['services/catalog/domain/a.ts', '#shared/clock.ts'],
  ['services/catalog/domain/x/a.ts', '#gen/portico/session/v1/session_pb.js'],
  ['services/catalog/ports/a.ts', '../adapters/a.ts'],
  ['services/x/rpc/a.ts', '../adapters/a.ts'],
  ['services/session/rpc/x/a.ts', '#services/session/adapters/a.ts'],
  ['services/session/run/x/a.ts', '#services/session/adapters/a.ts'],
  ['services/x/run/a.ts', '#shared/stores/sqlite.ts'],
  ['services/x/routes.ts', './adapters/a.ts'],
  ['services/catalog/adapters/files/a.ts', '#services/session/ports.ts'],
  ['services/session/adapters/files/a.ts', '#services/session/rpc/a.ts'],
  ['services/session/adapters/files/c.ts', '#gen/portico/identity/v1/identity_pb.js'],
  ['services/session/adapters/sqlite/a.ts', '../mongo/a.ts'],
  ['services/session/adapters/mongo/x/a.ts', '#services/session/adapters/sqlite/a.ts'],
  ['services/session/adapters/rpc/a.ts', '#services/session/run/a.ts'],
  ['services/catalog/adapters/mcp/a.ts', '#services/catalog/run/a.ts'],
  ['services/inference/adapters/providers/a.ts', '#services/inference/config.ts'],
  ['services/x/config.ts', 'mongodb'],
  ['services/x/open.ts', '#services/identity/open.ts'],
  ['services/x/main.ts', './adapters/a.ts'],
  ['gateway/http/a.ts', 'mongodb'],
  ['gateway/session/a.ts', '../message/mappers.ts'],
  ['gateway/event/a.ts', 'express'],
  ['gateway/responses/stream/a.ts', '#gateway/session/mappers.ts'],
  ['gateway/records/a.ts', '../session/mappers.ts'],
  ['gateway/generation/a.ts', '../responses/body.ts'],
  ['gateway/presets/a.ts', '../responses/operations.ts'],
  ['gateway/errors/a.ts', '../app.ts'],
  ['gateway/operation.ts', './session/mappers.ts'],
  ['cli/a.ts', '#services/identity/adapters/a.ts'],
  ['dev/a.ts', '#services/identity/adapters/a.ts'],
  ['main.ts', './services/x/adapters/a.ts'],
  ['test/a.ts', '../../services/x/open.ts'],
]

/** One import that each kind of file may have. */
const ALLOWED: readonly (readonly [file: string, specifier: string])[] = [
  ['services/y/rpc/a.ts', '#shared/rejection.ts'],
  ['services/y/rpc/b.ts', '../ports/b.ts'],
  ['services/session/rpc/y/b.ts', '#services/session/domain/b.ts'],
  ['services/catalog/domain/y/b.ts', '../b.ts'],
  ['services/catalog/domain/b.ts', '#gen/portico/catalog/v1/catalog_pb.js'],
  ['services/catalog/ports/b.ts', '#gen/portico/catalog/v1/catalog_pb.js'],
  ['services/session/adapters/files/d.ts', '#gen/portico/session/v1/session_pb.js'],
  ['services/session/run/y/b.ts', '../b.ts'],
  ['services/catalog/adapters/a.ts', '#shared/stores/sqlite.ts'],
  ['services/catalog/adapters/files/b.ts', '#services/catalog/domain/a.ts'],
  ['services/session/adapters/sqlite/b.ts', '../common/a.ts'],
  ['services/session/adapters/mongo/x/b.ts', '../collections.ts'],
  ['services/inference/adapters/rpc-b.ts', '#gen/portico/identity/v1/identity_service_pb.js'],
  ['services/session/adapters/rpc/b.ts', '@connectrpc/connect'],
  ['services/catalog/adapters/mcp/b.ts', '#services/catalog/run/process-places.ts'],
  ['services/inference/adapters/providers/b.ts', '#services/inference/config-file.ts'],
  ['services/y/rpc/a.test.ts', '../adapters/a.ts'],
  ['gateway/http/b.ts', 'express'],
  ['gateway/session/b.ts', '../records/ids.ts'],
  ['gateway/responses/stream/b.ts', '../events.ts'],
  ['gateway/responses/b.ts', '../generation/request.ts'],
  ['gateway/presets/b.ts', '../responses/body.ts'],
  ['cli/b.ts', '#services/identity/open.ts'],
  ['dev/b.ts', '#gateway/operation.ts'],
  ['test/b.ts', '#services/session/open.ts'],
]

test('each row of the import matrix refuses a forbidden import, of a type too, and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-matrix-'))
  try {
    cpSync('biome.json', join(folder, 'biome.json'))
    for (const [file, specifier] of [...PLANTED, ...ALLOWED]) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), `import type { a } from '${specifier}'\n\nexport type b = a\n`)
    }
    const words = ['lint', '--vcs-enabled=false', '--reporter=json', '--max-diagnostics=200', '.']
    const { stdout } = spawnSync('biome', words, { cwd: folder, encoding: 'utf8' })
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] }
    const refused = diagnostics.filter(({ category }) => category === 'lint/style/noRestrictedImports')
    assert.deepEqual(refused.map(({ location }) => location.path).sort(), PLANTED.map(([file]) => file).sort())
  } finally {
    rmSync(folder, { recursive: true })
  }
})

interface Diagnostic {
  readonly category: string
  readonly location: { readonly path: string }
}
