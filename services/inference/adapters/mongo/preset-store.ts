import type { ClientSession, Collection } from 'mongodb'
import type { Preset, PresetVersion } from '#gen/portico/inference/v1/preset_service_pb.js'
import {
  type DesignatedPreset,
  PAGE_CHARACTERS,
  type Page,
  type PresetDraft,
  type PresetInUse,
  type PresetStore,
  type Slice,
} from '#services/inference/ports/preset-store.ts'
import { systemClock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import type { MongoDocument } from '#shared/stores/mongo-table.ts'
import { isConflict } from '#shared/stores/mongo-transactions.ts'
import { SettingsReader } from '../preset-settings.ts'
import {
  charactersIn,
  designate,
  inUse,
  type PresetKey,
  presets,
  presetVersions,
  toPreset,
  toVersion,
} from '../tables/presets.ts'

type PresetDocument = MongoDocument<typeof presets, PresetKey>
type VersionDocument = MongoDocument<typeof presetVersions>

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const
/** Versions may be large, but most are small. */
const FEW = 20
const nothing = (): void => {}

/** The presets in MongoDB, where several processes may write them. */
export class MongoPresetStore implements PresetStore {
  readonly #mongo: Mongo
  readonly #presets: Collection<PresetDocument>
  readonly #versions: Collection<VersionDocument>
  readonly #settings = new SettingsReader()
  /**
   * Operations in progress in this process, by preset: waiting for a turn here avoids conflicts within the process in
   * the store.
   */
  readonly #turns = new Map<string, Promise<void>>()

  constructor(mongo: Mongo) {
    this.#mongo = mongo
    this.#presets = mongo.db.collection<PresetDocument>(`inference_${presets.name}`)
    this.#versions = mongo.db.collection<VersionDocument>(`inference_${presetVersions.name}`)
  }

  createVersion(workspaceId: string, slug: string, draft: PresetDraft): Promise<DesignatedPreset> {
    const name = JSON.stringify([workspaceId, slug])
    const until = systemClock.monotonic() + this.#mongo.limitMs
    const turn = (this.#turns.get(name) ?? Promise.resolve()).then(() =>
      this.#create({ workspaceId, slug }, draft, until),
    )
    const over = turn.then(nothing, nothing).then(() => {
      if (this.#turns.get(name) === over) this.#turns.delete(name)
    })
    this.#turns.set(name, over)
    return turn
  }

  /**
   * A caller that has waited for longer than a call may take was refused already, so nothing more is written for it.
   */
  async #create(key: PresetKey, draft: PresetDraft, until: number): Promise<DesignatedPreset> {
    const left = until - systemClock.monotonic()
    if (left <= 0) throw new Rejection('PRESET_CONFLICT', { slug: key.slug })
    try {
      return await this.#mongo.transact((session) => this.#write(key, draft, session), left)
    } catch (error) {
      if (isConflict(error)) throw new Rejection('PRESET_CONFLICT', { slug: key.slug }, { cause: error })
      throw error
    }
  }

  async #write(_id: PresetKey, draft: PresetDraft, session: ClientSession): Promise<DesignatedPreset> {
    const before = await this.#presets.findOne({ _id }, { session, ...LIMIT })
    const head = before === null ? undefined : { preset: before, version: before.designated.version }
    const { preset, version } = designate(_id, draft, head)
    const document = { ...preset, designated: version }
    if (before === null) await this.#presets.insertOne({ _id, ...document }, { session, ...LIMIT })
    else await this.#presets.replaceOne({ _id }, document, { session, ...LIMIT })
    await this.#versions.insertOne({ _id: version.versionId, ...version }, { session, ...LIMIT })
    return { preset: toPreset(preset), designatedVersion: toVersion(version) }
  }

  async get(workspaceId: string, slug: string): Promise<DesignatedPreset | undefined> {
    const document = await this.#presets.findOne({ _id: { workspaceId, slug } }, LIMIT)
    return document === null
      ? undefined
      : { preset: toPreset(document), designatedVersion: toVersion(document.designated) }
  }

  async inUse(workspaceId: string, slug: string): Promise<PresetInUse | undefined> {
    const projection = { 'designated.config': 0 }
    const document = await this.#presets.findOne({ _id: { workspaceId, slug } }, { projection, ...LIMIT })
    if (document === null) return undefined
    const { designated } = document
    return inUse(document, designated, this.#settings.read(designated))
  }

  async list(workspaceId: string, { offset, limit }: Slice): Promise<Page<Preset>> {
    const cursor = this.#presets.find({ workspaceId }, { projection: { designated: 0 }, ...LIMIT })
    const [documents, total] = await Promise.all([
      cursor.sort({ updateTime: -1, slug: 1 }).skip(offset).limit(limit).toArray(),
      this.#presets.countDocuments({ workspaceId }, LIMIT),
    ])
    return { items: documents.map(toPreset), total }
  }

  async listVersions(
    workspaceId: string,
    slug: string,
    { offset, limit }: Slice,
  ): Promise<Page<PresetVersion> | undefined> {
    const head = await this.#head(workspaceId, slug)
    if (head === null) return undefined
    const { presetId, designated } = head
    // Excludes versions that were created since then.
    const filter = { presetId, version: { $lte: designated.version } }
    const cursor = this.#versions.find(filter, { ...LIMIT, batchSize: FEW }).sort({ version: 1 })
    const items: PresetVersion[] = []
    let characters = 0
    for await (const row of cursor.skip(offset).limit(limit)) {
      items.push(toVersion(row))
      characters += charactersIn(row)
      if (characters > PAGE_CHARACTERS) break
    }
    return { items, total: designated.version }
  }

  async getVersion(workspaceId: string, slug: string, version: number): Promise<PresetVersion | undefined> {
    const head = await this.#head(workspaceId, slug)
    const row = head && (await this.#versions.findOne({ presetId: head.presetId, version }, LIMIT))
    return row ? toVersion(row) : undefined
  }

  #head(workspaceId: string, slug: string): Promise<Pick<PresetDocument, 'presetId' | 'designated'> | null> {
    const projection = { presetId: 1, 'designated.version': 1 }
    return this.#presets.findOne({ _id: { workspaceId, slug } }, { projection, ...LIMIT })
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
