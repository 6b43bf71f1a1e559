// The thread that runs npm's libraries, which take a second and 60 MB to load, and ignore signals: only ending the
// thread stops them.
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
