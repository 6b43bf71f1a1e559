// For how long an event as long as a picture holds the event loop of the single process, and what it takes of memory,
// while clients that read nothing are connected: to the events of the workspace, and to the log of the session, which
// they follow. Usage: long-events.ts [CLIENTS]
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { median } from './harness/load.ts'
import { startPortico } from './servers.ts'

const CLIENTS = Number(process.argv[2] ?? 100)
const ROUNDS = 5
const PICTURE = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), randomBytes(4 << 20)])
const JSON_BODY = { method: 'POST', headers: { 'content-type': 'application/json' } }

const STREAMS = { events: '/api/event', 'the log': '/api/experimental/session/ses_1/log?follow=true' }

process.stdout.write(
  `an event of 5.6 MB for ${CLIENTS} clients that read nothing, medians of ${ROUNDS} (least to most):\n`,
)
for (const [name, path] of Object.entries(STREAMS)) {
  const held: number[] = []
  const grown: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const { heldMs, megabytes } = await measure(path)
    held.push(heldMs)
    grown.push(megabytes)
  }
  process.stdout.write(`  of ${name}: held ms ${ofAll(held)}, at most MB more ${ofAll(grown)}\n`)
}

async function measure(path: string): Promise<{ readonly heldMs: number; readonly megabytes: number }> {
  const { portico, project, ...servers } = await startPortico()
  await using _ = servers
  writeFileSync(join(project, 'picture.png'), PICTURE)
  const post = async (path: string, body: object): Promise<void> => {
    const answer = await fetch(`${portico.url}${path}`, { ...JSON_BODY, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  }
  const megabytes = (): number => {
    const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${portico.process.pid}/status`, 'utf8')) ?? []
    return Number(kilobytes) / 1_024
  }
  await post('/api/session', { id: 'ses_1', model: { id: 'echo', providerID: 'portico' } })
  const streams = Array.from({ length: CLIENTS }, () =>
    get(`${portico.url}${path}`, { agent: false }, (stream) => stream.pause()).on('error', () => {}),
  )
  await delay(1_000)
  const before = megabytes()
  const heldMs = await portico.heldDuring(async () => {
    await post('/api/session/ses_1/prompt', { text: '/tool read {"path":"picture.png"}' })
    await post('/api/session/ses_1/wait', {})
    await delay(1_000)
  })
  const grown = megabytes() - before
  for (const stream of streams) stream.destroy()
  return { heldMs, megabytes: grown }
}

function ofAll(figures: readonly number[]): string {
  return `${Math.round(median(figures))} (${Math.round(Math.min(...figures))} to ${Math.round(Math.max(...figures))})`
}
