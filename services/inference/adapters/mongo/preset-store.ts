import type { ClientSession, Collection } from 'mongodb'
import type { DesignatedPreset, Preset, PresetInUse, PresetVersion } from '#services/inference/domain/preset/preset.ts'
import {
  PAGE_CHARACTERS,
  type Page,
  type PresetDraft,
  type PresetStore,
  type Slice,
} from '#services/inference/ports/preset-store.ts'
import { systemClock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { isConflict } from '#shared/stores/mongo-transactions.ts'
import {
  designatedOf,
  inUseOf,
  newPreset,
  type PresetDocument,
  type PresetKey,
  presetOf,
  storedVersion,
  type VersionDocument,
  versionOf,
  withVersion,
} from './preset-documents.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const
/** Versions may be large, but most are small. */
const FEW = 20
const nothing = (): void => {}

/** The presets in MongoDB, where several processes may write them. */
export class MongoPresetStore implements PresetStore {
  readonly #mongo: Mongo
  readonly #presets: Collection<PresetDocument>
  readonly #versions: Collection<VersionDocument>
  /**
   * Operations in progress in this process, by preset: waiting for a turn here avoids conflicts within the process in
   * the store.
   */
  readonly #turns = new Map<string, Promise<void>>()

  constructor(mongo: Mongo) {
    this.#mongo = mongo
    this.#presets = mongo.db.collection<PresetDocument>('inference_presets')
    this.#versions = mongo.db.collection<VersionDocument>('inference_preset_versions')
  }

  createVersion(workspace: string, slug: string, draft: PresetDraft): Promise<DesignatedPreset> {
    const name = JSON.stringify([workspace, slug])
    const until = systemClock.monotonic() + this.#mongo.limitMs
    const turn = (this.#turns.get(name) ?? Promise.resolve()).then(() =>
      this.#create({ workspace, slug }, draft, until),
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
    const found = await this.#presets.findOne({ _id }, { session, ...LIMIT })
    const designated = storedVersion(draft, (found?.designated.version ?? 0) + 1)
    const document = found === null ? newPreset(_id, draft, designated) : withVersion(found, designated)
    if (found === null) await this.#presets.insertOne(document, { session, ...LIMIT })
    else await this.#presets.replaceOne({ _id }, document, { session, ...LIMIT })
    const { version, ...row } = designated
    const place = { _id: { presetId: document.id, version }, presetId: document.id }
    await this.#versions.insertOne({ ...place, ...row }, { session, ...LIMIT })
    return designatedOf(document)
  }

  async get(workspace: string, slug: string): Promise<DesignatedPreset | undefined> {
    const found = await this.#presets.findOne({ _id: { workspace, slug } }, LIMIT)
    return found === null ? undefined : designatedOf(found)
  }

  async inUse(workspace: string, slug: string): Promise<PresetInUse | undefined> {
    const projection = { 'designated.config': 0 }
    const found = await this.#presets.findOne({ _id: { workspace, slug } }, { projection, ...LIMIT })
    return found === null ? undefined : inUseOf(found)
  }

  async list(workspace: string, { offset, limit }: Slice): Promise<Page<Preset>> {
    const projection = { 'designated.config': 0, 'designated.systemPrompt': 0, 'designated.settings': 0 }
    const found = this.#presets.find({ workspace }, { projection, ...LIMIT })
    const [items, total] = await Promise.all([
      found.sort({ updatedAt: -1, '_id.slug': 1 }).skip(offset).limit(limit).toArray(),
      this.#presets.countDocuments({ workspace }, LIMIT),
    ])
    return { items: items.map(presetOf), total }
  }

  async listVersions(
    workspace: string,
    slug: string,
    { offset, limit }: Slice,
  ): Promise<Page<PresetVersion> | undefined> {
    const head = await this.#head(workspace, slug)
    if (head === null) return undefined
    // Excludes versions that were created since then.
    const filter = { presetId: head.id, '_id.version': { $lte: head.designated.version } }
    const found = this.#versions.find(filter, { ...LIMIT, batchSize: FEW }).sort({ '_id.version': 1 })
    const items: PresetVersion[] = []
    let characters = 0
    for await (const { _id, ...row } of found.skip(offset).limit(limit)) {
      items.push(versionOf({ ...row, ..._id }, head.id))
      characters += row.config.length + row.settings.length + (row.systemPrompt ?? '').length
      if (characters > PAGE_CHARACTERS) break
    }
    return { items, total: head.designated.version }
  }

  async getVersion(workspace: string, slug: string, version: number): Promise<PresetVersion | undefined> {
    const head = await this.#head(workspace, slug)
    const row = head && (await this.#versions.findOne({ _id: { presetId: head.id, version } }, LIMIT))
    return row ? versionOf({ ...row, version }, head.id) : undefined
  }

  #head(workspace: string, slug: string): Promise<Pick<PresetDocument, 'id' | 'designated'> | null> {
    const projection = { id: 1, 'designated.version': 1 }
    return this.#presets.findOne({ _id: { workspace, slug } }, { projection, ...LIMIT })
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
