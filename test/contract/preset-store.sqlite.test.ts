import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SqlitePresetStore } from '#services/inference/adapters/sqlite/preset-store.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { presetStoreSuite } from './preset-store.suite.ts'

presetStoreSuite(
  'SQLite',
  async () => {
    const folder = scratchDirectory()
    const path = join(folder.path, 'presets.sqlite')
    let store = new SqlitePresetStore(path)
    return {
      get stores() {
        return [store] as const
      },
      async setStatus(workspace, slug, status, at) {
        await store[Symbol.asyncDispose]()
        {
          using database = new DatabaseSync(path)
          database
            .prepare('UPDATE presets SET status = ?, statusUpdateTime = ? WHERE workspaceId = ? AND slug = ?')
            .run(status, at, workspace, slug)
        }
        store = new SqlitePresetStore(path)
      },
      async [Symbol.asyncDispose]() {
        await store[Symbol.asyncDispose]()
        folder[Symbol.dispose]()
      },
    }
  },
  { skip: false },
)
