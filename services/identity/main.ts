import { runService } from '#shared/process/service-process.ts'
import { readConfig } from './config.ts'
import { type Opened, open, services } from './open.ts'

await runService({ name: 'identity', peers: [], services, readConfig, open, opened: showKeys }, process.env)

/**
 * Shows the keys that this start generated. They are not logged, since logs are kept and a key must be seen only once.
 */
function showKeys({ bootstrap: { createdManagementKey, createdApiKey, workspaceId } }: Opened): void {
  if (createdManagementKey !== undefined) report(`Management key, shown once: ${createdManagementKey}`)
  if (createdApiKey !== undefined) report(`Workspace API key, shown once: ${createdApiKey}`)
  if (createdManagementKey !== undefined || createdApiKey !== undefined) {
    report(`Workspace, as PORTICO_PROJECT_ROOTS names it: ${workspaceId}`)
  }
}

function report(line: string): void {
  process.stderr.write(`${line}\n`)
}
