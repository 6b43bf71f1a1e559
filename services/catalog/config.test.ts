import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '#shared/config/config-error.ts'
import { readConfig } from './config.ts'

test('without settings there is no project directory, the user’s directory is ~/.config/opencode, and no workspace has roots', () => {
  const { variable, ...config } = readConfig({ HOME: '/home/a', PATH: '/bin', SECRET: 'hush' })
  assert.deepEqual([variable('SECRET'), variable('NO_SUCH')], ['hush', undefined])
  assert.ok(!JSON.stringify(readConfig({ SECRET: 'hush' })).includes('hush'), 'settings are logged')
  assert.deepEqual(config, {
    directory: undefined,
    configDirectory: '/home/a/.config/opencode',
    home: '/home/a',
    roots: {},
    trustedDirectories: [],
    processesPerCore: 16,
    locationIdleSeconds: 300,
    pluginDirectory: undefined,
    pluginRegistry: 'https://registry.npmjs.org',
    pluginLoadSeconds: 10,
    pluginHookSeconds: 5,
    pluginMemoryMib: 256,
    environment: { PATH: '/bin', HOME: '/home/a' },
  })
})

test('settings come from the environment', () => {
  const config = readConfig({
    HOME: '/home/a',
    PORTICO_DIRECTORY: '/srv/../project',
    PORTICO_CONFIG_DIR: '/etc/portico',
    PORTICO_PROJECT_ROOTS: '{"wrk_1":["/srv/a","/srv/b"]}',
    PORTICO_TRUSTED_DIRECTORIES: '["/srv/a"]',
    PORTICO_PROCESSES_PER_CORE: '2',
    PORTICO_LOCATION_IDLE_SECONDS: '60',
    PORTICO_PLUGIN_LOAD_SECONDS: '3',
    PORTICO_PLUGIN_HOOK_SECONDS: '4',
    PORTICO_PLUGIN_MEMORY_MIB: '64',
  })
  assert.equal(config.directory, '/project')
  assert.equal(config.configDirectory, '/etc/portico')
  assert.deepEqual(config.roots, { wrk_1: ['/srv/a', '/srv/b'] })
  assert.deepEqual(config.trustedDirectories, ['/srv/a'])
  assert.deepEqual([config.processesPerCore, config.locationIdleSeconds], [2, 60])
  assert.deepEqual([config.pluginLoadSeconds, config.pluginHookSeconds, config.pluginMemoryMib], [3, 4, 64])
})

test('a command sees only the listed variables: no key, no setting of Portico, nothing that a shell would run', () => {
  const { environment } = readConfig({
    PATH: '/bin',
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
    OPENAI_API_KEY: 'a',
    PORTICO_INTERNAL_SECRET: 'b',
    BASH_ENV: 'c',
    LD_PRELOAD: 'd',
    NODE_OPTIONS: 'e',
    GIT_DIR: 'f',
  })
  assert.deepEqual(environment, { PATH: '/bin', LC_ALL: 'C.UTF-8', TZ: 'UTC' })
})

test('a command does not see the folders that npm puts in front of PATH for a script, however deep scripts are nested', () => {
  const npm = '/srv/portico/node_modules/.bin:/node_modules/.bin:/usr/lib/npm/lib/node-gyp-bin'
  for (const path of [`${npm}:/home/a/node_modules/.bin:/bin`, `${npm}:${npm}:/home/a/node_modules/.bin:/bin`]) {
    assert.equal(readConfig({ PATH: path }).environment.PATH, '/home/a/node_modules/.bin:/bin')
    assert.equal(readConfig({ PATH: `/opt/b:${path}` }).environment.PATH, '/opt/b:/home/a/node_modules/.bin:/bin')
  }
  assert.match(readConfig({ PATH: npm }).environment.PATH ?? '', /^\/usr\/local\/sbin:/)
})

test('roots that are not a map of absolute paths are refused', () => {
  for (const roots of ['{', '[]', '{"wrk_1":"/a"}', '{"wrk_1":["a"]}']) {
    assert.throws(() => readConfig({ PORTICO_PROJECT_ROOTS: roots }), ConfigError)
  }
})

test('trusted directories that are not a list of absolute paths are refused', () => {
  for (const directories of ['[', '{}', '"/a"', '["a"]', '[1]']) {
    assert.throws(() => readConfig({ PORTICO_TRUSTED_DIRECTORIES: directories }), ConfigError)
  }
})

test('packages of plugins come from the configured registry, else from npm’s', () => {
  const registryOf = (env: Record<string, string>) => readConfig(env).pluginRegistry
  const npm_config_registry = 'https://npm.example/all/'
  assert.equal(registryOf({ npm_config_registry }), 'https://npm.example/all')
  assert.equal(
    registryOf({ npm_config_registry, PORTICO_PLUGIN_REGISTRY: 'http://127.0.0.1:1/' }),
    'http://127.0.0.1:1',
  )
  for (const address of ['', 'npm.example', 'https://a:b@npm.example']) {
    assert.equal(registryOf({ npm_config_registry: address }), 'https://registry.npmjs.org')
    assert.throws(() => registryOf({ PORTICO_PLUGIN_REGISTRY: address || 'ftp://npm.example' }), ConfigError)
  }
  assert.equal(readConfig({ PORTICO_PLUGIN_DIR: '/srv/../plugins' }).pluginDirectory, '/plugins')
})
