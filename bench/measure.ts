import type { BenchCase } from './cases.ts'
import { LoadClient, median } from './harness/load.ts'
import type { BenchServer } from './harness/server.ts'
import { startServers } from './servers.ts'

/** Medians of a server's rounds. */
export interface Figures {
  /** Milliseconds. */
  readonly p50: number
  readonly requestsPerSecond: number
  /** Microseconds of the server's CPU time per request or chunk. */
  readonly cpu: number
}

/** A case at one concurrency. */
export interface Comparison {
  readonly concurrency: number
  readonly reference: Figures
  readonly portico: Figures
}

const ROUNDS = 7

/**
 * Runs a case: both servers are filled and warmed up, then loaded alternately (reference, Portico, reference, …), so
 * that other activity on the machine affects both.
 */
export async function measure(benchCase: BenchCase, profile?: string): Promise<Comparison[]> {
  await using servers = await startServers(benchCase.reference, profile)
  const comparisons: Comparison[] = []
  for (const [key, requests] of Object.entries(benchCase.rounds)) {
    const concurrency = Number(key)
    await using reference = await contestant(benchCase, servers.reference, servers.project, concurrency)
    await using portico = await contestant(benchCase, servers.portico, servers.project, concurrency)
    for (const side of [reference, portico]) await side.round(requests)
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const side of [reference, portico]) side.keep(await side.round(requests))
    }
    comparisons.push({ concurrency, reference: reference.figures(), portico: portico.figures() })
  }
  return comparisons
}

async function contestant(benchCase: BenchCase, server: BenchServer, project: string, concurrency: number) {
  const client = new LoadClient(server.url, concurrency)
  const next = await benchCase.prepare(client, project)
  const kept: Figures[] = []
  const of = (name: keyof Figures): number => median(kept.map((figures) => figures[name]))
  return {
    async round(requests: number): Promise<Figures> {
      const before = await server.cpu()
      const load = await client.load(requests, concurrency, next)
      const cpu = ((await server.cpu()) - before) / (requests * benchCase.per.count)
      return { ...load, cpu }
    },
    keep: (figures: Figures) => kept.push(figures),
    figures: (): Figures => ({ p50: of('p50'), requestsPerSecond: of('requestsPerSecond'), cpu: of('cpu') }),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  }
}
