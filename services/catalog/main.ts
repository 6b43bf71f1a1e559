// The process of the catalog service alone.
import { runService } from '#shared/process/service-process.ts'
import { readConfig } from './config.ts'
import { open } from './open.ts'

await runService({ name: 'catalog', peers: [], readConfig, open }, process.env)
