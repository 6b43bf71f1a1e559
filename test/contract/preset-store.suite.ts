import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { GenerationRequestSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { Preset_Status as Status } from '#gen/portico/inference/v1/preset_service_pb.js'
import { PAGE_CHARACTERS, type PresetDraft, type PresetStore } from '#services/inference/ports/preset-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { plain } from '#test/support/inference.ts'

/** A place with presets; several processes may have it open if its store allows that. */
export interface PresetPlace extends AsyncDisposable {
  readonly stores: readonly [PresetStore, ...PresetStore[]]
  /** Changes the status of a preset, which no call does yet. */
  setStatus(workspace: string, slug: string, status: Status, at: number): Promise<void>
}

/** A version to be created. */
export function draft(more: Partial<PresetDraft> = {}): PresetDraft {
  return {
    versionId: randomUUID(),
    presetId: randomUUID(),
    config: { model: 'a/b', temperature: 0.5 },
    systemPrompt: 'Be brief.',
    settings: create(GenerationRequestSchema, { sampling: { temperature: 0.5 } }),
    creatorKeyId: 'key_1',
    createTime: 1_000,
    ...more,
  }
}

const ALL = { offset: 0, limit: 100 }

/** The promises of the PresetStore port. */
export function presetStoreSuite(
  title: string,
  make: () => Promise<PresetPlace>,
  options: { skip: string | false },
): void {
  describe(title, options, () => {
    let place: PresetPlace
    beforeEach(async () => {
      place = await make()
    })
    afterEach(() => place[Symbol.asyncDispose]())
    const rule = (name: string, run: (store: PresetStore) => Promise<void>): void => {
      test(name, () => run(place.stores[0]))
    }

    rule('a first version makes the preset, and the next ones are designated in turn', async (store) => {
      const [first, second] = [
        draft(),
        draft({ createTime: 2_000, creatorKeyId: undefined, systemPrompt: undefined, config: {} }),
      ]
      assert.equal(await store.get('wrk_1', 'support'), undefined)
      const { presetId } = first
      const preset = {
        presetId,
        workspaceId: 'wrk_1',
        slug: 'support',
        name: 'support',
        status: Status.ACTIVE,
        createTime: 1_000,
        updateTime: 1_000,
        creatorKeyId: 'key_1',
        designatedVersionId: first.versionId,
      }
      const { settings: _, ...firstVersion } = { ...first, version: 1 }
      const made = { preset, designatedVersion: firstVersion }
      assert.deepEqual(plain(await store.createVersion('wrk_1', 'support', first)), made)
      assert.deepEqual(plain(await store.get('wrk_1', 'support')), made)
      const after = {
        preset: { ...preset, updateTime: 2_000, designatedVersionId: second.versionId },
        designatedVersion: { versionId: second.versionId, presetId, version: 2, config: {}, createTime: 2_000 },
      }
      assert.deepEqual(plain(await store.createVersion('wrk_1', 'support', second)), after)
      assert.deepEqual(plain(await store.get('wrk_1', 'support')), after)
      assert.deepEqual(await store.inUse('wrk_1', 'support'), {
        presetId,
        status: Status.ACTIVE,
        versionId: second.versionId,
        version: 2,
        systemPrompt: undefined,
        settings: second.settings,
      })
      assert.equal(await store.inUse('wrk_2', 'support'), undefined)
      assert.deepEqual(plain(await store.getVersion('wrk_1', 'support', 1)), made.designatedVersion)
      assert.deepEqual(plain(await store.getVersion('wrk_1', 'support', 2)), after.designatedVersion)
      assert.equal(await store.getVersion('wrk_1', 'support', 3), undefined)
      const versions = { items: [made.designatedVersion, after.designatedVersion], total: 2 }
      assert.deepEqual(plain(await store.listVersions('wrk_1', 'support', ALL)), versions)
    })

    rule('a slug means one preset in each workspace, and capitals make another slug', async (store) => {
      for (const [workspace, slug] of [
        ['wrk_1', 'a'],
        ['wrk_2', 'a'],
        ['wrk_1', 'A'],
      ] as const)
        await store.createVersion(workspace, slug, draft())
      const ids = [await store.get('wrk_1', 'a'), await store.get('wrk_2', 'a'), await store.get('wrk_1', 'A')]
      assert.equal(new Set(ids.map((found) => found?.preset.presetId)).size, 3)
      assert.equal(await store.get('wrk_2', 'A'), undefined)
      assert.equal(await store.listVersions('wrk_2', 'A', ALL), undefined)
      assert.equal(await store.getVersion('wrk_2', 'A', 1), undefined)
      assert.equal((await store.list('wrk_2', ALL)).total, 1)
    })

    rule(
      'presets are listed by their last change, newest first, and versions oldest first, in pages',
      async (store) => {
        for (const [i, slug] of ['a', 'b', 'c', 'a'].entries())
          await store.createVersion('wrk_1', slug, draft({ createTime: 1_000 + i }))
        const slugs = async (offset: number, limit: number) => {
          const { items, total } = await store.list('wrk_1', { offset, limit })
          return [items.map(({ slug }) => slug).join(''), total]
        }
        assert.deepEqual(await slugs(0, 100), ['acb', 3])
        assert.deepEqual(await slugs(1, 1), ['c', 3])
        assert.deepEqual(await slugs(3, 1), ['', 3])
        const [listed] = (await store.list('wrk_1', ALL)).items
        assert.deepEqual(listed, (await store.get('wrk_1', 'a'))?.preset)
        const page = await store.listVersions('wrk_1', 'a', { offset: 1, limit: 1 })
        assert.deepEqual([page?.items.map(({ version }) => version), page?.total], [[2], 2])
      },
    )

    rule('a page of versions ends where they have much text, after one at least', async (store) => {
      const config = { text: 'x'.repeat(PAGE_CHARACTERS * 0.4) }
      for (let i = 0; i < 4; i++) await store.createVersion('wrk_1', 'a', draft({ config }))
      await store.createVersion('wrk_1', 'a', draft({ systemPrompt: 'x'.repeat(PAGE_CHARACTERS + 1) }))
      await store.createVersion('wrk_1', 'a', draft())
      const pages = []
      for (let offset = 0; offset < 6; ) {
        const page = (await store.listVersions('wrk_1', 'a', { offset, limit: 100 })) ?? assert.fail()
        pages.push(page.items.map(({ version }) => version))
        offset += page.items.length
        assert.equal(page.total, 6)
      }
      assert.deepEqual(pages, [[1, 2, 3], [4, 5], [6]])
    })

    rule('a preset moves in the list even if the clock goes back', async (store) => {
      await store.createVersion('wrk_1', 'a', draft({ createTime: 5_000 }))
      await store.createVersion('wrk_1', 'a', draft({ createTime: 4_000 }))
      const found = await store.get('wrk_1', 'a')
      assert.deepEqual([found?.preset.updateTime, found?.designatedVersion.createTime], [5_000, 4_000])
    })

    rule('settings come back unchanged, whatever the names of their members', async (store) => {
      const config = { $set: { 'a.b': null }, '': [[], {}, 'ä\u0000'], n: [1, -0.5, 1e300], tools: [{ $ref: '#' }] }
      const settings = create(GenerationRequestSchema, { providerBody: config, sampling: { seed: 2n ** 53n + 1n } })
      await store.createVersion('wrk_1', 'a', draft({ config, settings, systemPrompt: 'ö\n' }))
      const version = (await store.get('wrk_1', 'a'))?.designatedVersion
      assert.deepEqual([version?.config, version?.systemPrompt], [config, 'ö\n'])
      assert.deepEqual(Object.keys(version?.config ?? {}), Object.keys(config))
      assert.deepEqual((await store.inUse('wrk_1', 'a'))?.settings, settings)
    })

    rule('a changed status is stored, and a new version leaves it unchanged', async (store) => {
      await store.createVersion('wrk_1', 'a', draft())
      await place.setStatus('wrk_1', 'a', Status.DISABLED, 7_000)
      const [again] = place.stores
      const { preset } = await again.createVersion('wrk_1', 'a', draft())
      assert.deepEqual([preset.status, preset.statusUpdateTime], [Status.DISABLED, 7_000])
      assert.deepEqual((await again.list('wrk_1', ALL)).items, [preset])
    })

    rule('a version that one process creates is read by every other one at once', async (store) => {
      const other = place.stores.at(-1) ?? store
      for (let version = 1; version <= 3; version++) {
        const { designatedVersion } = await store.createVersion('wrk_1', 'a', draft())
        assert.deepEqual((await other.get('wrk_1', 'a'))?.designatedVersion, designatedVersion)
        assert.equal((await other.listVersions('wrk_1', 'a', ALL))?.total, version)
      }
    })

    rule('50 versions created at once are numbered without a gap, or refused as a conflict', async () => {
      const { stores } = place
      const outcomes = await Promise.allSettled(
        Array.from({ length: 50 }, (_, i) => {
          const store = stores[i % stores.length] ?? stores[0]
          return store.createVersion('wrk_1', 'busy', draft({ config: { i } }))
        }),
      )
      const made = outcomes.filter((outcome) => outcome.status === 'fulfilled').map(({ value }) => value)
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') continue
        assert.ok(outcome.reason instanceof Rejection, String(outcome.reason))
        assert.equal(outcome.reason.reason, 'PRESET_CONFLICT')
      }
      const page = await stores[0].listVersions('wrk_1', 'busy', ALL)
      const numbers = Array.from({ length: made.length }, (_, i) => i + 1)
      assert.deepEqual(
        made.map(({ designatedVersion }) => designatedVersion.version).sort((a, b) => a - b),
        numbers,
      )
      assert.deepEqual(
        page?.items.map(({ version }) => version),
        numbers,
      )
      const byNumber = new Map(made.map(({ designatedVersion }) => [designatedVersion.version, designatedVersion]))
      assert.deepEqual(
        page?.items,
        numbers.map((number) => byNumber.get(number)),
      )
      assert.equal(new Set(made.map(({ preset }) => preset.presetId)).size, 1)
      assert.equal((await stores[0].get('wrk_1', 'busy'))?.designatedVersion.version, made.length)
    })
  })
}
