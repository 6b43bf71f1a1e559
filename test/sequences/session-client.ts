import { type Asked, asking, before } from './asked.ts'
import { type Answered, Client, type Target } from './client.ts'
import { type History, newHistory } from './history.ts'
import type { Place } from './step.ts'

/** What a sequence needs of the world around it. */
export interface Scene extends Target {
  /** Folder that the tools of all sequences write to. */
  readonly scratch: string
  readonly places: Readonly<Record<Place, string>>
}

/** A session that was made of another one. */
export interface Made {
  readonly session: SessionClient
  /** Somebody has seen it. */
  readonly sure: boolean
}

/**
 * A session as one client uses it. Its actions are kept, and answers that must not occur are noted among the problems.
 */
export class SessionClient {
  readonly scene: Scene
  readonly history: History
  readonly client: Client
  readonly path: string
  /** Sessions that were created below it, or below each other. */
  readonly children: Made[] = []
  /** Sessions that were made of it, and go on by themselves. */
  readonly offspring: Made[] = []

  constructor(scene: Scene, sessionId: string, problems?: string[]) {
    this.scene = scene
    this.history = newHistory(sessionId, scene.scratch, problems)
    this.client = new Client(scene, this.history.problems)
    this.path = `/api/session/${sessionId}`
  }

  /** Sends a request that must not be repeated. `suffix` comes after the session's path. */
  async send(method: string, suffix: string, body?: unknown, asked = asking()): Promise<Answered> {
    return this.client.ask(method, `${this.path}${suffix}`, body, undefined, asked)
  }

  /** Sends a request again and again, until its fate is known. */
  insist(method: string, suffix: string, body?: unknown, asked = asking()): Promise<Answered> {
    return this.client.insist(method, `${this.path}${suffix}`, body, asked)
  }

  /**
   * Whether a request was answered with one of these; anything else is a problem, unless the session was removed
   * meanwhile.
   */
  expect(statuses: number | readonly number[], { asked, body }: Answered): boolean {
    const { removal } = this.history
    const { status } = asked
    if (status === undefined) return false
    if (removal !== undefined && status === 404 && !before(asked, removal)) return false
    if (removal?.status !== undefined && before(removal, asked)) {
      this.wrong('after its removal', asked, body)
      return false
    }
    if ([statuses].flat().includes(status)) return true
    this.wrong(`expected ${statuses}`, asked, body)
    return false
  }

  wrong(what: string, { status }: Asked, body: unknown): void {
    this.history.problems.push(
      `${this.history.sessionId}: ${what}: answered ${status} ${JSON.stringify(body)?.slice(0, 500)}`,
    )
  }
}
