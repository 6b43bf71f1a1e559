import { runService } from '#shared/process/service-process.ts'
import { readConfig } from './config.ts'
import { open, services } from './open.ts'

await runService({ name: 'inference', peers: ['identity'], services, readConfig, open }, process.env)
