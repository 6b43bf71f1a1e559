import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import type { DescService } from '@bufbuild/protobuf'
import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { PresetService } from '#gen/portico/inference/v1/preset_service_pb.js'
import { UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'

const SERVICES: Readonly<Record<string, readonly DescService[]>> = {
  catalog: [CatalogService],
  identity: [IdentityService, FederationService],
  inference: [InferenceService, PresetService, UsageService],
  session: [SessionService],
}

/** What each file of a service exports; a name that ends in `?` may be missing. */
const EXPORTS: Readonly<Record<string, readonly string[]>> = {
  'main.ts': [],
  'config.ts': ['Config', 'readConfig'],
  'open.ts': ['Dependencies', 'Opened', 'open', 'services', 'storeSchema?'],
  'routes.ts': ['HandlerDependencies?', 'createRoutes'],
  'reasons.ts': ['reasons'],
}

const FOLDERS = ['ports', 'domain', 'run', 'rpc', 'adapters']

/** Files besides the skeleton, each with its reason. */
const EXTRA = new Set([
  // A file of settings besides the environment: models and providers.
  'services/inference/config-file.ts',
  'services/inference/config-models.ts',
])

const EXPORTED = /^export (?:declare )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm

function exportsOf(path: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(EXPORTED)].map(([, name = '']) => name).sort()
}

const isProduct = (path: string): boolean => path.endsWith('.ts') && !path.endsWith('.test.ts')

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replace(/^-/, '')

function problemsOf(name: string, services: readonly DescService[]): string[] {
  const folder = `services/${name}`
  const problems: string[] = []
  const note = (at: string, words: string, what: readonly string[]): void => {
    if (what.length > 0) problems.push(`${at} ${words}${what.join(', ')}`)
  }
  for (const [file, names] of Object.entries(EXPORTS)) {
    const path = `${folder}/${file}`
    const found = existsSync(path) ? exportsOf(path) : []
    const known = new Set(names.map((each) => each.replace('?', '')))
    if (!existsSync(path)) problems.push(`${path} is missing`)
    note(
      path,
      'does not export ',
      names.filter((each) => !each.endsWith('?') && !found.includes(each)),
    )
    note(
      path,
      'exports ',
      found.filter((each) => !known.has(each)),
    )
  }
  note(
    folder,
    'has no ',
    FOLDERS.filter((each) => !existsSync(`${folder}/${each}`)),
  )
  const beside = globSync(`${folder}/*.ts`).filter((path) => isProduct(path) && !(basename(path) in EXPORTS))
  note(
    folder,
    'also has ',
    beside.filter((path) => !EXTRA.has(path)),
  )
  const handlers = globSync(`${folder}/rpc/**/*.ts`).filter(isProduct)
  const names = new Set(handlers.flatMap((path) => readFileSync(path, 'utf8').match(/\b\w+(?=[(:])/g) ?? []))
  for (const { name: method, localName } of services.flatMap(({ methods }) => methods)) {
    const isThere = names.has(localName) || handlers.some((path) => basename(path) === `${kebab(method)}.ts`)
    if (!isThere) problems.push(`${folder}/rpc has no handler of ${method}`)
  }
  for (const path of globSync(`${folder}/rpc/**/convert.ts`)) {
    note(
      path,
      'exports ',
      exportsOf(path).filter((each) => !/(To|From)Proto$/.test(each)),
    )
  }
  return problems
}

test('the four services have the same files, and the same names for the same thing', () => {
  const problems = Object.entries(SERVICES).flatMap(([name, services]) => problemsOf(name, services))
  assert.deepEqual(problems, [])
})

test('no file is named types.ts, utils.ts or the like, which says nothing of what is in it', () => {
  const vague = ['types', 'utils', 'helpers', 'common', 'misc']
  const found = Object.keys(SERVICES).flatMap((name) => globSync(`services/${name}/**/{${vague.join(',')}}.ts`))
  assert.deepEqual(found, [])
})
