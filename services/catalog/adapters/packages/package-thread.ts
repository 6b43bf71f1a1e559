// The thread that works with npm's libraries: they take a second and 60 MB to load, and no signal stops them: ending the thread does.
import { parentPort } from 'node:worker_threads'
import { install } from './install.ts'
import type { PackageAnswer, PackageJob } from './package-job.ts'
import { problemOf } from './problem-of.ts'
import { resolveAll } from './registry.ts'

parentPort?.on('message', async (job: PackageJob) => {
  parentPort?.postMessage(await work(job))
})

async function work(job: PackageJob): Promise<PackageAnswer> {
  try {
    if (job.type === 'resolve') return { type: 'resolved', resolutions: await resolveAll(job) }
    return { type: 'installed', resolved: await install(job) }
  } catch (error) {
    return { type: 'failed', problem: problemOf(error) }
  }
}
