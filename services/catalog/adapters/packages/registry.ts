import pacote, { type Options } from 'pacote'
import { gt } from 'semver'
import type { Question, Resolution, ResolveJob } from './package-job.ts'
import { problemOf } from './problem-of.ts'

/** Concurrent look-ups. */
const AT_ONCE = 16

/**
 * How npm's libraries use a registry: only this one, whatever host a tarball is said to be at, with one retry,
 * bypassing caches.
 */
export function registryOptions(registry: string, timeout: number): Options {
  const retry = { retries: 1, minTimeout: 100, maxTimeout: 1_000 }
  return { registry, replaceRegistryHost: 'always', retry, timeout, preferOnline: true } as Options
}

/** Answers each question independently of the others. */
export async function resolveAll({ questions, registry, limits }: ResolveJob): Promise<Resolution[]> {
  const resolutions: Resolution[] = []
  const waiting = [...questions.entries()]
  const look = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, question] = next
      resolutions[index] = await resolve(question, registry, limits.checkMs).catch((error: unknown) => ({
        problem: problemOf(error),
      }))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, look))
  return resolutions
}

async function resolve({ specifier, installed }: Question, registry: string, timeout: number): Promise<Resolution> {
  const spec = `${specifier.name}@${specifier.wanted}`
  const { version, _integrity } = await pacote.manifest(spec, registryOptions(registry, timeout))
  return { version, integrity: _integrity, newer: gt(version, installed) }
}
