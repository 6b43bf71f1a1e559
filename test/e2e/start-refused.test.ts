import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { runToEnd, scratchDirectory, startProcess } from '#test/support/processes.ts'

test('a port in use is one line that names the setting', async () => {
  using data = scratchDirectory()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const ended = await runToEnd('main.ts', [], { PORTICO_DATA_DIR: data.path, PORTICO_PORT: String(port) })
  other.close()
  const stderr = `Port ${port} on 127.0.0.1 is in use: set PORTICO_PORT to another one\n`
  assert.deepEqual(ended, { code: 1, stdout: '', stderr })
})

test('a port that this user may not take is reported by its own name', {
  skip: process.platform === 'linux' && process.getuid?.() === 0 ? false : 'only root can become another user',
}, async () => {
  using data = scratchDirectory()
  const entries = [
    ['main.ts', 'PORTICO_PORT', {}],
    ['services/catalog/main.ts', 'PORTICO_SERVICE_PORT', { PORTICO_INTERNAL_SECRET: 'a secret of processes' }],
  ] as const
  for (const [entry, setting, more] of entries) {
    const environment = { PORTICO_DATA_DIR: data.path, [setting]: '80', ...more }
    const { code, stderr } = await runToEnd(...asNobody(entry), environment)
    const why = `  ${setting}: this user cannot listen on port 80 on 127.0.0.1 (EACCES): use 1024 or above\n`
    assert.deepEqual([code, stderr], [1, `The settings cannot be used:\n${why}`])
  }
})

test('a data folder that this user cannot write to is reported in the same words, whether it is there or not', {
  skip: process.platform === 'linux' && process.getuid?.() === 0 ? false : 'only root can become another user',
}, async () => {
  using data = scratchDirectory()
  chmodSync(data.path, 0o755)
  const there = join(data.path, 'there')
  mkdirSync(there)
  for (const path of [there, join(data.path, 'none')]) {
    const environment = { PORTICO_DATA_DIR: path, PORTICO_PORT: '0', PORTICO_DIRECTORY: '/' }
    const { code, stderr } = await runToEnd(...asNobody('main.ts'), environment)
    const why = `  PORTICO_DATA_DIR: this user cannot write to ${path} (EACCES)\n`
    assert.deepEqual([code, stderr], [1, `The settings cannot be used:\n${why}`])
  }
})

/** Runs an entry file as a user with few permissions and none of this one's. */
function asNobody(entry: string): readonly [command: string, words: readonly string[]] {
  const user = ['--reuid=65534', '--regid=65534', '--clear-groups', '--inh-caps=-all', '--bounding-set=-all']
  return ['setpriv', [...user, process.execPath, entry]]
}

test('a data folder in use is one line that names the setting, and the first server goes on', async () => {
  using data = scratchDirectory()
  const environment = { PORTICO_DATA_DIR: data.path, PORTICO_PORT: '0' }
  const server = await startProcess('main.ts', environment)
  try {
    const { code, stdout, stderr } = await runToEnd('main.ts', [], environment)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^[^\n]*PORTICO_DATA_DIR[^\n]*\n$/)
    assert.ok(stderr.includes(data.path))
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200)
  } finally {
    await server.stop()
  }
})

test('a second server on a data folder changes nothing in it, and its keys do not work', async () => {
  using data = scratchDirectory()
  const environment = { PORTICO_DATA_DIR: data.path, PORTICO_PORT: '0' }
  const key = 'sk-portico-of-the-second-server'
  const server = await startProcess('main.ts', environment)
  try {
    // So that it writes nothing meanwhile.
    server.pause()
    const before = contents(data.path)
    const { code, stdout, stderr } = await runToEnd('main.ts', [], { ...environment, PORTICO_BOOTSTRAP_API_KEY: key })
    const why = `${data.path} is in use by another process: stop it first, or set PORTICO_DATA_DIR to another folder\n`
    assert.deepEqual([code, stdout, stderr], [1, '', why])
    assert.deepEqual(contents(data.path), before)
    server.resume()
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'portico/echo', input: 'Hello' })
    const answer = await fetch(`${server.url}/api/v1/responses`, { method: 'POST', headers, body })
    assert.equal(answer.status, 401)
  } finally {
    server.resume()
    await server.stop()
  }
  // Nor does anything stay locked.
  const next = await startProcess('main.ts', environment)
  assert.equal(await next.stop(), 0)
})

/** Path → content and time of change of every file and folder. */
function contents(directory: string): Record<string, string> {
  const found = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()
  return Object.fromEntries(
    ['', ...found].map((name) => {
      const path = join(directory, name)
      const stats = statSync(path)
      return [name, `${stats.mtimeMs} ${stats.isFile() ? readFileSync(path, 'base64') : ''}`]
    }),
  )
}

test('refuses to listen on a public address without credentials', async () => {
  using data = scratchDirectory()
  const environment = { PORTICO_DATA_DIR: data.path, PORTICO_PORT: '0', PORTICO_HOST: '0.0.0.0' }
  const { code, stdout, stderr } = await runToEnd('main.ts', [], environment)
  assert.deepEqual([code, stdout], [1, ''])
  const why = 'PORTICO_AUTH: none is only for a loopback address, not 0.0.0.0: set basic or bearer'
  assert.equal(stderr, `The settings cannot be used:\n  ${why}\n`)
})

test('roots are given to workspaces by their ids, not by the UUIDs that /api/v1 shows', async () => {
  using data = scratchDirectory()
  const uuid = '6f1d64c3-3a53-5a0e-9a2e-0f6a1c1f6a4e'
  const roots = JSON.stringify({ wrk_1: ['/srv/a'], [uuid]: ['/srv/a'] })
  const environment = { PORTICO_DATA_DIR: data.path, PORTICO_PORT: '0', PORTICO_PROJECT_ROOTS: roots }
  const { code, stdout, stderr } = await runToEnd('main.ts', [], environment)
  assert.deepEqual([code, stdout], [1, ''])
  const why = `PORTICO_PROJECT_ROOTS: ${uuid}: must be a workspace id of the form wrk_…, which npm run key -- list shows`
  assert.equal(stderr, `The settings cannot be used:\n  ${why}\n`)
})

test('all settings that cannot be used are reported at once, and no secret is repeated', async () => {
  using data = scratchDirectory()
  const bad = {
    PORTICO_PORT: '70000',
    PORTICO_AUTH: 'maybe',
    PORTICO_LOG_LEVEL: 'shout',
    PORTICO_BOOTSTRAP_API_KEY: 'short-one',
    PORTICO_CONFIG: '/nowhere/portico.json',
    PORTICO_PROJECT_ROOTS: '{"wrk_1": "x"}',
    PORTICO_SESSION_MAX_RUNS: '0',
    PORTICO_MONGDB_URI: 'x',
    DIR: '/nope',
  }
  const { code, stdout, stderr } = await runToEnd('main.ts', [bad.DIR], { PORTICO_DATA_DIR: data.path, ...bad })
  assert.deepEqual([code, stdout], [1, ''])
  const [first, ...lines] = stderr.trimEnd().split('\n')
  assert.equal(first, 'The settings cannot be used:')
  assert.deepEqual(
    lines.map((line) => /^ {2}(\w+)(?: \(of npm start -- DIR\))?: ./.exec(line)?.[1] ?? line).sort(),
    [...Object.keys(bad), 'Warnings:'].sort(),
  )
  assert.match(stderr, /\nWarnings:\n {2}PORTICO_MONGDB_URI: [^\n]*PORTICO_MONGODB_URI\?\n$/)
  assert.doesNotMatch(stderr, /short-one/)
})

test('refuses a project that is no directory, and unknown arguments, before it creates anything', async () => {
  using data = scratchDirectory()
  const environment = { PORTICO_DATA_DIR: join(data.path, 'data'), PORTICO_PORT: '0' }
  for (const [words, why] of [
    [['/nowhere'], 'DIR (of npm start -- DIR): /nowhere is not a directory'],
    [[], 'PORTICO_DIRECTORY: /nowhere/else is not a directory'],
  ] as const) {
    const ended = await runToEnd('main.ts', words, { ...environment, PORTICO_DIRECTORY: '/nowhere/else' })
    assert.deepEqual(ended, { code: 1, stdout: '', stderr: `The settings cannot be used:\n  ${why}\n` })
  }
  for (const words of [['--nonsense'], ['.', '.']]) {
    const { code, stdout, stderr } = await runToEnd('main.ts', words, environment)
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /^Usage: npm start \[-- DIR\]\n/)
  }
  const { code, stdout, stderr } = await runToEnd('main.ts', ['--help'], environment)
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^Usage: npm start \[-- DIR\]\n/)
  assert.deepEqual(readdirSync(data.path), [])
})

test('a data folder that cannot be created, or cannot be written, is one line', {
  skip: process.platform !== 'linux',
}, async () => {
  // Below /proc the system reports what cannot be made as missing, /dev/null is not a folder, and /sys refuses writes.
  for (const directory of ['/proc/portico/data', '/proc/portico', '/dev/null/data', '/sys/portico/data']) {
    const { code, stderr } = await runToEnd('main.ts', [], { PORTICO_DATA_DIR: directory, PORTICO_PORT: '0' })
    assert.equal(code, 1)
    assert.match(stderr, /^The settings cannot be used:\n {2}PORTICO_DATA_DIR: [^\n]+\n$/)
    assert.match(stderr, /: (this user cannot write to \/|the folder \/|\/dev\/null is a file, not a folder)/)
  }
})

test('unknown settings are one line of the log that suggests similar names; variables that a start asks to export are known', async () => {
  using data = scratchDirectory()
  const environment = {
    PORTICO_DATADIR: '/x',
    PORTICO_FOO: '1',
    PORTICO_API_KEY: 'a',
    PORTICO_MANAGEMENT_KEY: 'b',
  }
  const others = { PORTICO_SERVICE_PORT: '1', PORTICO_INTERNAL_SECRET_FILE: '/nowhere' }
  const server = await startProcess('main.ts', {
    ...environment,
    ...others,
    PORTICO_DATA_DIR: data.path,
    PORTICO_PORT: '0',
    PORTICO_LOG_LEVEL: 'warn',
  })
  assert.equal(await server.stop(), 0)
  const logged = server
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
  assert.deepEqual(
    logged.map((line) => (JSON.parse(line) as { msg: string }).msg),
    [
      'Unknown settings are ignored: PORTICO_DATADIR is not a known setting; did you mean PORTICO_DATA_DIR? · PORTICO_FOO is not a known setting',
    ],
  )
})

test('a data folder that cannot be used is reported with the file and the setting, without a stack trace', async () => {
  using data = scratchDirectory()
  const file = join(data.path, 'identity.sqlite')
  const folder = join(data.path, 'folder')
  const blobs = join(folder, 'blobs')
  mkdirSync(folder)
  writeFileSync(blobs, '')
  writeFileSync(file, 'This is no database, and long enough that nobody takes it for an empty one.')
  for (const [directory, why] of [
    [data.path, `${file} cannot be used: file is not a database`],
    [file, `${file} is a file, not a folder`],
    [folder, `${blobs} is a file, not a folder`],
  ] as const) {
    const { code, stderr } = await runToEnd('main.ts', [], { PORTICO_DATA_DIR: directory, PORTICO_PORT: '0' })
    // The last problem is found after the first keys are made.
    const said = stderr.replace(/^Keys, shown only once: .*\n/m, '')
    assert.deepEqual([code, said], [1, `The settings cannot be used:\n  PORTICO_DATA_DIR: ${why}\n`])
  }
})

test('a data folder that a newer version wrote is one line, for the server and for the commands', async () => {
  using data = scratchDirectory()
  const environment = { PORTICO_DATA_DIR: data.path, PORTICO_PORT: '0' }
  const server = await startProcess('main.ts', environment)
  await server.stop()
  for (const name of ['session', 'inference', 'identity']) {
    const file = join(data.path, `${name}.sqlite`)
    const latest = setVersion(file, 1000)
    const why = `${file} was written by a newer Portico (version 1000, this one knows ${latest})`
    const stderr = `${why}: use that version, or name another store in PORTICO_DATA_DIR\n`
    assert.deepEqual(await runToEnd('main.ts', [], environment), { code: 1, stdout: '', stderr })
    if (name === 'identity') {
      assert.deepEqual(await runToEnd('cli/migrate.ts', [], environment), { code: 1, stdout: '', stderr })
      const { code, stdout, stderr: said } = await runToEnd('cli/key.ts', ['list'], environment)
      assert.deepEqual([code, stdout], [1, ''])
      assert.ok(said.endsWith(stderr))
    }
    setVersion(file, latest)
  }
  assert.equal(await (await startProcess('main.ts', environment)).stop(), 0)
})

/** Sets the version of a SQLite file and returns the one before. */
function setVersion(file: string, version: number): number {
  using database = new DatabaseSync(file)
  const before = database.prepare('PRAGMA user_version').get()?.user_version as number
  database.exec(`PRAGMA user_version = ${version}`)
  return before
}

test('a database that a newer version wrote is one line, for each process and for the command', {
  skip: skipWithoutMongo,
}, async () => {
  const database = freshDatabaseName()
  const environment = {
    ...{ PORTICO_MONGODB_URI: mongoUri() ?? '', PORTICO_MONGODB_DATABASE: database },
    ...{ PORTICO_INTERNAL_SECRET: 'a secret of processes', PORTICO_SERVICE_PORT: '0', PORTICO_LOG_LEVEL: 'error' },
  }
  await using mongo = await openMongo({ uri: environment.PORTICO_MONGODB_URI, database })
  const versions = mongo.db.collection<{ _id: string; version: number; digest: number }>('store_versions')
  try {
    for (const name of ['session', 'inference', 'identity']) {
      await versions.replaceOne({ _id: name }, { version: 1000, digest: 1 }, { upsert: true })
      const refused = new RegExp(
        `^The data of ${name} in the database ${database} was written by a newer Portico [^\n]*PORTICO_MONGODB_DATABASE\n$`,
      )
      for (const entry of [`services/${name}/main.ts`, ...(name === 'identity' ? ['cli/migrate.ts', 'main.ts'] : [])]) {
        const { code, stderr } = await runToEnd(entry, [], { ...environment, PORTICO_PORT: '0' })
        assert.equal(code, 1)
        assert.match(stderr, refused)
      }
      await versions.deleteMany({})
    }
  } finally {
    await mongo.db.dropDatabase()
  }
})
