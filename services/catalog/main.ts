import { runService } from '#shared/process/service-process.ts'
import { readConfig } from './config.ts'
import { open, services } from './open.ts'

await runService({ name: 'catalog', peers: [], services, readConfig, open }, process.env)
