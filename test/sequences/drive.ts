import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type Target } from './client.ts'
import { type Asked, asking, type History, type SentPrompt } from './history.ts'
import type { Delivery, Look, Sequence, Step, ToolKind, Work } from './step.ts'

/** What a sequence needs of the world around it. */
export interface Scene extends Target {
  /** Folder that the tools of all sequences write to. */
  readonly scratch: string
  readonly project: string
}

/** Rules of every session: commands that end in a comment are asked for, or denied. */
const PERMISSIONS = [
  { action: '*', resource: '*', effect: 'allow' },
  { action: 'bash', resource: '*# ask-me', effect: 'ask' },
  { action: 'bash', resource: '*# deny-me', effect: 'deny' },
]

/** Does step after step in a session of its own, and lets answers come that were not waited for. */
export async function drive(scene: Scene, sequence: Sequence, sessionId: string): Promise<Driver> {
  const driver = new Driver(scene, sessionId)
  await driver.create()
  const open: Promise<void>[] = []
  for (const step of sequence) {
    if (step.pause > 0) await sleep(step.pause)
    if (step.do === 'join') await Promise.all(open)
    const done = driver.do(step)
    if (step.ahead) open.push(done)
    else await done
  }
  await Promise.all(open)
  return driver
}

/** One client in one session, and what it remembers. */
export class Driver {
  readonly history: History
  readonly client: Client
  readonly #scene: Scene
  readonly #path: string

  constructor(scene: Scene, sessionId: string) {
    this.#scene = scene
    const none = { prompts: [], wakes: [], interrupts: [], replies: [], waits: [], problems: [], woken: false }
    this.history = { sessionId, calls: join(scene.scratch, `${sessionId}.calls`), ...none }
    this.client = new Client(scene, this.history.problems)
    this.#path = `/api/session/${sessionId}`
  }

  async create(): Promise<void> {
    const id = this.history.sessionId
    const location = { directory: this.#scene.project }
    const { asked, body } = await this.client.insist('POST', '/api/session', { id, location, permissions: PERMISSIONS })
    const made = (body as { data?: { id?: string } } | undefined)?.data?.id
    if (asked.status !== 200 || made !== id) this.#wrong('create', asked, body)
  }

  do(step: Step): Promise<unknown> & Promise<void> {
    return this.#do(step) as Promise<void>
  }

  async #do(step: Step): Promise<unknown> {
    switch (step.do) {
      case 'prompt':
        return this.prompt(step.work, step.delivery, step.parked, step.minted)
      case 'repeat':
        return this.#repeat(step.back, step.other, step.parked)
      case 'cancel':
        return this.#cancel(step.back)
      case 'redeliver':
        return this.#redeliver(step.back, step.delivery)
      case 'interrupt':
        return this.interrupt()
      case 'wait':
        return this.wait(step.ms)
      case 'reply':
        return this.#reply(step.answer)
      case 'agent':
        return this.#expect(204, await this.client.post(`${this.#path}/agent`, { agent: step.agent }))
      case 'model':
        return this.#expect(
          204,
          await this.client.post(`${this.#path}/model`, { model: { providerID: 'portico', id: step.model } }),
        )
      case 'look':
        return this.#look(step.at)
      case 'join':
        return
    }
  }

  /** Sends a prompt; one that has an id as often as it takes to know what became of it. */
  async prompt(work: Work, delivery: Delivery, parked = false, minted = false): Promise<SentPrompt> {
    const { prompts, sessionId } = this.history
    const tag = String(prompts.length)
    const id = minted ? undefined : `msg_${sessionId.slice(4)}_${tag}`
    const asked = asking()
    const sent: SentPrompt = {
      id,
      text: this.#textOf(work, tag),
      work,
      delivery,
      asked,
      accepted: false,
      cancelled: false,
    }
    prompts.push(sent)
    await this.#admit(sent, asked, sent.text, parked)
    return sent
  }

  async #repeat(back: number, other: boolean, parked: boolean): Promise<void> {
    const sent = this.#known(back)
    if (sent === undefined) return
    await this.#admit(sent, asking(), other ? `${sent.text}\nAnd something else.` : sent.text, parked)
  }

  #known(back: number): SentPrompt | undefined {
    return this.history.prompts.filter(({ id, accepted }) => accepted && id !== undefined).at(-1 - back)
  }

  async #cancel(back: number): Promise<void> {
    const sent = this.#known(back)
    if (sent === undefined) return
    sent.cancelled = true
    this.#expect(204, await this.client.insist('DELETE', `${this.#path}/inbox/${sent.id}`))
  }

  async #redeliver(back: number, delivery: Delivery): Promise<void> {
    const sent = this.#known(back)
    if (sent === undefined) return
    const asked = asking()
    if (delivery === 'steer') this.history.wakes.push(asked)
    const { body } = await this.client.ask('PATCH', `${this.#path}/inbox/${sent.id}`, { delivery }, undefined, asked)
    // It may wait no more, or for this boundary already.
    if (asked.status !== 409) this.#expect(204, { asked, body })
  }

  async #admit(prompt: SentPrompt, asked: Asked, text: string, parked: boolean): Promise<void> {
    const { id, delivery } = prompt
    const request = { ...(id === undefined ? {} : { id }), text, delivery, ...(parked ? { resume: false } : {}) }
    // Noted before it is sent: it may be done while nobody knows the answer.
    if (!parked) this.history.wakes.push(asked)
    const { body } = await (id === undefined
      ? this.client.post(`${this.#path}/prompt`, request, asked)
      : this.client.insist('POST', `${this.#path}/prompt`, request, asked))
    if (asked.status === undefined) return
    const admitted = (body as { data?: { id: string; payload?: { text?: string } } } | undefined)?.data
    if (text !== prompt.text) {
      if (asked.status !== 409) this.#wrong('a known id with other content', asked, body)
      return
    }
    if (asked.status !== 200 || admitted?.payload?.text !== text) return this.#wrong('prompt', asked, body)
    if (id !== undefined && admitted.id !== id) this.#wrong('prompt', asked, body)
    prompt.id = admitted.id
    prompt.accepted = true
  }

  async interrupt(): Promise<boolean> {
    const asked = asking()
    this.history.interrupts.push(asked)
    const { body } = await this.client.post(`${this.#path}/interrupt`, undefined, asked)
    this.#expect(200, { asked, body })
    return (body as { interrupted?: boolean } | undefined)?.interrupted === true
  }

  /** Waits until the session is idle, but not longer than that; whether it is. */
  async wait(ms: number): Promise<boolean> {
    const { asked, body } = await this.client.ask(
      'POST',
      `/api/experimental/session/${this.history.sessionId}/wait`,
      undefined,
      ms,
    )
    this.#expect(204, { asked, body })
    if (asked.status === 204) this.history.waits.push(asked)
    return asked.status === 204
  }

  async #reply(answer: 'once' | 'always' | 'reject' | 'correct'): Promise<void> {
    type Request = { id: string; source?: { messageID: string; id: string } }
    let request: Request | undefined
    for (let tries = 0; tries < 12 && request === undefined; tries++) {
      if (tries > 0) await sleep(60)
      const { body } = await this.client.get(`${this.#path}/permission`)
      request = (body as { data?: Request[] } | undefined)?.data?.[0]
    }
    if (request === undefined) return
    const said = answer === 'correct' ? { reply: 'reject', message: 'Not that way' } : { reply: answer }
    const asked = asking()
    const { messageID: messageId = '', id: callId = '' } = request.source ?? {}
    this.history.replies.push({ asked, answer, requestId: request.id, messageId, callId })
    const { body } = await this.client.post(`${this.#path}/permission/${request.id}/reply`, said, asked)
    // It may have expired, or been answered, meanwhile.
    if (asked.status !== 404) this.#expect(204, { asked, body })
  }

  async #look(at: Look): Promise<unknown> {
    const { sessionId, problems } = this.history
    if (at === 'create') return this.create()
    if (at === 'step') return this.#awaitStep()
    if (at === 'messages') {
      const ids = (await this.client.messages(sessionId)).map(({ id }) => id)
      if (new Set(ids).size !== ids.length) problems.push('a message is listed twice')
      return
    }
    const paths = {
      session: this.#path,
      sessions: '/api/session?limit=200',
      active: '/api/session/active',
      permissions: `${this.#path}/permission`,
      inbox: `${this.#path}/inbox`,
    }
    const { asked, body } = await this.client.get(paths[at])
    this.#expect(200, { asked, body })
    const { data } = (body ?? {}) as { data?: unknown }
    if (at === 'session' && asked.status === 200 && (data as { id?: string }).id !== sessionId)
      this.#wrong('get', asked, body)
  }

  /** Waits a moment until the model is asked, or a call runs. */
  async #awaitStep(): Promise<void> {
    for (let tries = 0; tries < 20; tries++) {
      const { body } = await this.client.get(`${this.#path}/message?limit=1`)
      if ((body as { data?: { type: string }[] } | undefined)?.data?.[0]?.type === 'assistant') return
      await sleep(20)
    }
  }

  #textOf(work: Work, tag: string): string {
    switch (work.kind) {
      case 'look':
        return `What is in this project? (${tag})`
      case 'words':
        return `/slow ${work.slowMs}\n/length ${work.count}`
      case 'fail':
        return `/fail ${work.status}${work.after === 0 ? '' : ` after ${work.after}`}\n/length 4`
      case 'tools':
        return work.tools
          .map((kind, i) => `/tool bash ${JSON.stringify({ command: this.#command(kind, `${tag}.${i}`) })}`)
          .join('\n')
    }
  }

  #command(kind: ToolKind, token: string): string {
    const mark = `echo ${kind === 'always' ? 'always' : token} >> ${this.history.calls}`
    switch (kind) {
      case 'quick':
        return mark
      case 'brief':
        return `${mark}; sleep 0.2`
      case 'failing':
        return `${mark}; exit 3`
      case 'printing':
        return `${mark}; for i in 1 2 3 4 5 6; do yes abcdefgh | head -c 200000; sleep 0.08; done`
      case 'endless':
        return `${mark}; while :; do echo abcdefgh; sleep 0.02; done`
      case 'denied':
        return `${mark} # deny-me`
      case 'asking':
      case 'always':
        return `${mark} # ask-me`
    }
  }

  #expect(status: number, { asked, body }: { readonly asked: Asked; readonly body: unknown }): void {
    if (asked.status !== undefined && asked.status !== status) this.#wrong(`expected ${status}`, asked, body)
  }

  #wrong(what: string, { status }: Asked, body: unknown): void {
    this.history.problems.push(`${what}: answered ${status} ${JSON.stringify(body)}`)
  }
}
