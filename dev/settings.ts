// Writes `services/shared/config/setting-names.ts`: the names of all settings in the schemas of all processes.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readConfig as readGatewayConfig } from '#gateway/config.ts'
import { readConfig as readCatalogConfig } from '#services/catalog/config.ts'
import { readConfig as readIdentityConfig } from '#services/identity/config.ts'
import { readConfig as readInferenceConfig } from '#services/inference/config.ts'
import { readConfig as readSessionConfig } from '#services/session/config.ts'
import { variablesOf } from '#shared/config/config.ts'
import type { Environment } from '#shared/config/variables.ts'
import { readProcessConfig, readServiceProcessConfig, SERVICES } from '#shared/process/process-config.ts'

const file = fileURLToPath(new URL('../services/shared/config/setting-names.ts', import.meta.url))
const readers: Readonly<Record<string, readonly ((env: Environment) => unknown)[]>> = {
  gateway: [readGatewayConfig, (env) => readProcessConfig(env, SERVICES)],
  session: [readSessionConfig, (env) => readServiceProcessConfig(env, 'session', ['catalog', 'inference'])],
  catalog: [readCatalogConfig, (env) => readServiceProcessConfig(env, 'catalog')],
  inference: [readInferenceConfig, (env) => readServiceProcessConfig(env, 'inference', ['identity'])],
  identity: [readIdentityConfig, (env) => readServiceProcessConfig(env, 'identity')],
}

/** Process → the names of all variables that it reads. */
export function settingsOfProcesses(): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(
    Object.entries(readers).map(([name, all]) => [name, new Set(all.flatMap((read) => [...variablesOf(read)]))]),
  )
}

/** The text that the file should have, and the one that it has. */
export function settingNames(): { readonly wanted: string; readonly present: string } {
  const all = new Set([...settingsOfProcesses().values()].flatMap((names) => [...names]))
  const names = [...all].filter((name) => name.startsWith('PORTICO_')).sort()
  const list = names.map((name) => `  '${name}',\n`).join('')
  const wanted = `// Written by dev/settings.ts (npm run generate) from the schemas of all processes; never edited.

/** The names of the settings of all processes of the product. */
export const SETTING_NAMES: readonly string[] = [
${list}]
`
  return { wanted, present: readFileSync(file, 'utf8') }
}

if (import.meta.main) writeFileSync(file, settingNames().wanted)
