// The process of the session service alone.
import { runService } from '#shared/process/service-process.ts'
import { readConfig } from './config.ts'
import { open, services } from './open.ts'

await runService({ name: 'session', peers: ['catalog', 'inference'], services, readConfig, open }, process.env)
