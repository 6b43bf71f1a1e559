import { join } from 'node:path'
import { npmInstall } from './npm-install.ts'

/** Installs the package into the folder, and returns the path of its binary for this machine. */
export function installOpencode(folder: string): string {
  npmInstall(folder, { 'opencode-ai': '1.18.33' })
  return join(folder, 'node_modules', `opencode-${process.platform}-${process.arch}`, 'bin', 'opencode')
}

/** The whole environment of opencode: folders of its own, and settings that keep it off the network. */
export function opencodeEnvironment(folder: string): NodeJS.ProcessEnv {
  const config = { autoupdate: false, share: 'disabled', snapshot: false, lsp: false, formatter: false }
  return {
    PATH: process.env.PATH,
    HOME: folder,
    OPENCODE_CONFIG_CONTENT: JSON.stringify(config),

    XDG_DATA_HOME: join(folder, 'data'),
    XDG_CONFIG_HOME: join(folder, 'config'),

    XDG_CACHE_HOME: join(folder, 'cache'),
    XDG_STATE_HOME: join(folder, 'state'),

    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_SHARE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',

    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  }
}
