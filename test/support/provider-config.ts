import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ProviderStub } from '#test/support/provider-stub.ts'

let folder: string | undefined
let count = 0

/** The path of a file for PORTICO_CONFIG with these providers, which exists until the process ends. */
export function providerConfig(providers: readonly object[]): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'portico-config-'))
    process.once('exit', () => rmSync(made, { recursive: true, force: true }))
    folder = made
  }
  const path = join(folder, `${count++}.json`)
  writeFileSync(path, JSON.stringify({ providers }))
  return path
}

/** The same for one provider `openai`, a stub of chat completions. */
export function chatConfig({ url }: Pick<ProviderStub, 'url'>): string {
  const models = [{ id: 'gpt-5.5' }]
  return providerConfig([{ id: 'openai', protocol: 'openai', baseURL: `${url}/v1`, apiKey: 'sk-upstream', models }])
}
