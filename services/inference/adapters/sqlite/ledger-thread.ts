// The thread that owns the file of the ledger. Calls that come during a commit are in the next one.
import { serveStore } from '#shared/stores/thread/serve-store.ts'
import { LedgerFile } from './ledger-file.ts'

serveStore((path) => new LedgerFile(path))
