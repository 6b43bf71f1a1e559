// The thread that writes the audit log.
import { serveStore } from '#shared/stores/thread/serve-store.ts'
import { AuditFile } from './audit-file.ts'

serveStore((path) => new AuditFile(path))
