import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Installs packages into an otherwise empty folder, each in exactly that version wherever it is needed. Their scripts
 * are not run.
 */
export function npmInstall(folder: string, packages: Readonly<Record<string, string>>): void {
  const overrides = Object.fromEntries(Object.keys(packages).map((name) => [name, `$${name}`]))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: packages, overrides }))
  const words = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  execFileSync('npm', words, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
}
