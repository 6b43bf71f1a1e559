import assert from 'node:assert/strict'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { type Published, startNpmRegistry, tarballOf } from '#test/support/npm-registry.ts'
import { openPortico } from '#test/support/portico.ts'
import { waitFor, waitUntil } from '#test/support/wait-until.ts'

interface Answer {
  readonly location: unknown
  readonly data: readonly {
    readonly source: { readonly target?: string; readonly version?: string }
    readonly state: unknown
  }[]
}

const GIT = 'git+https://host/a.git'

function plugin(name: string, version: string, more: Partial<Published> = {}): Published {
  const files = { 'index.js': `export default { id: '${name}', setup() {} }` }
  return { name, version, files, manifest: { type: 'module' }, ...more }
}

test('plugin.check finds newer versions and lists every plugin; plugin.update installs them, and locations go on with them', async () => {
  await using registry = await startNpmRegistry()
  for (const name of ['acme', 'other']) registry.publish(plugin(name, '1.0.0'))
  const trusted = JSON.stringify([realpathSync(tmpdir())])
  const files = {
    'opencode.json': JSON.stringify({
      plugins: ['acme@^1', { package: 'other', options: {} }, './local.mjs', GIT, 'late'],
    }),
    'local.mjs': `export default { id: 'local', setup() {} }`,
  }
  await using portico = await openPortico(
    { PORTICO_PLUGIN_REGISTRY: registry.url, PORTICO_TRUSTED_DIRECTORIES: trusted },
    files,
  )
  const list = async () => (await (await portico.fetch('/api/plugin')).json()) as Answer
  const versions = async () =>
    (await list()).data.map(({ source, state }) => [source.version, (state as { status: string }).status])
  const active = (...wanted: string[]) =>
    waitFor(
      wanted.join(' '),
      async () =>
        JSON.stringify((await versions()).slice(0, 2)) === JSON.stringify(wanted.map((one) => [one, 'active'])),
      versions,
    )
  await active('1.0.0', '1.0.0')

  registry.publish(plugin('acme', '1.1.0'))
  const features = { server: true }
  const checked = await portico.post('/api/plugin/check', { target: null })
  assert.equal(checked.status, 200)
  const { location, data } = (await checked.json()) as Answer
  assert.deepEqual(location, { directory: portico.project })
  assert.deepEqual(data.slice(0, 3), [
    {
      id: 'acme',
      source: { type: 'package', target: 'acme@^1', version: '1.0.0', outdated: true },
      ...{ features, state: { status: 'active' } },
    },
    {
      id: 'other',
      source: { type: 'package', target: 'other', version: '1.0.0' },
      features,
      state: { status: 'active' },
    },
    {
      id: 'local',
      source: { type: 'local', path: join(portico.project, 'local.mjs') },
      features,
      state: { status: 'active' },
    },
  ])
  assert.deepEqual(data[3]?.source, { type: 'package', target: GIT })
  const one = await portico.post('/api/plugin/check', { target: 'other' })
  assert.deepEqual(((await one.json()) as Answer).data, data)

  // Nothing is updated if one of them is unknown.
  const refused = await portico.post('/api/plugin/update', { targets: ['acme@^1', 'nobody'] })
  const message = 'No plugin here is the package nobody'
  assert.equal(refused.status, 400)
  assert.deepEqual(await refused.json(), { _tag: 'InvalidRequestError', message, field: 'targets' })
  const unknown = await portico.post('/api/plugin/check', { target: 'nobody' })
  assert.equal(unknown.status, 400)
  assert.deepEqual(await unknown.json(), { _tag: 'InvalidRequestError', message, field: 'target' })
  assert.equal((await portico.post('/api/plugin/update', {})).status, 400)
  assert.deepEqual((await list()).data, data)

  // What can be updated is, and everything else is reported.
  registry.publish(plugin('other', '2.0.0', { sent: tarballOf([]) }))
  const events = await portico.fetch('/api/event')
  const failed = await portico.post('/api/plugin/update', { targets: ['acme@^1', 'other', GIT] })
  assert.equal(failed.status, 503)
  const { message: said, ...rest } = (await failed.json()) as { readonly message: string }
  assert.deepEqual(rest, { _tag: 'ServiceUnavailableError', service: 'plugin' })
  assert.match(said, /^other: a tarball does not match its integrity; git\+https:\/\/host\/a\.git: /)
  await active('1.1.0', '1.0.0')
  await waitForText(events, '"type":"plugin.updated"')

  const again = await portico.post('/api/plugin/update', { targets: ['acme@^1'] })
  assert.deepEqual([again.status, await again.text()], [204, ''])

  // An update installs one that could not be installed before.
  assert.match(JSON.stringify((await list()).data[4]?.state), /"status":"failed".*does not have it/)
  registry.publish(plugin('late', '1.0.0'))
  assert.equal((await portico.post('/api/plugin/update', { targets: ['late'] })).status, 204)
  await waitFor('late', async () => (await versions())[4]?.join() === '1.0.0,active', versions)
  await registry.stop()
  const offline = await portico.post('/api/plugin/check', {})
  assert.equal(offline.status, 200)
})

async function waitForText(answer: Response, wanted: string): Promise<void> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  await waitUntil(wanted, async () => {
    text += (await reader?.read())?.value ?? ''
    return text.includes(wanted) || undefined
  })
  await reader?.cancel()
}
