import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { writeFiles } from '#test/support/catalog.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { globTool } from './glob.ts'
import { grepTool } from './grep.ts'
import { SEARCH_BYTES, type SearchThread, SearchThreads } from './search-threads.ts'
import type { Tool } from './tool.ts'

const EVIL = '^(a+)+$|found'

/** Runs a search in a directory; its time is over when the signal aborts. */
async function run<I>(tool: Tool<I>, directory: string, input: I, signal = new AbortController().signal) {
  const { content, metadata } = await (await tool.plan(directory, input)).run({ signal, progress: () => {} })
  const [part] = content
  return { text: part?.content.case === 'text' ? part.content.value : '', metadata }
}

const timedOut = new DOMException('Too late', 'TimeoutError')

test('a search whose time is up returns what it has found, and reports that it stopped', async () => {
  using scratch = scratchDirectory()
  await using threads = new SearchThreads()
  await writeFiles(scratch.path, { a: 'found\nother\nfound', b: `${'a'.repeat(200)}!`, c: 'found' })
  const clock = new AbortController()
  const take = threads.take.bind(threads)
  threads.take = async (signal) => {
    const thread = await take(signal)
    const search = thread.search.bind(thread)
    thread.search = (request, ends, found) =>
      search(request, ends, (matches) => {
        found(matches)
        clock.abort(timedOut)
      })
    return thread
  }
  const grep = await run(grepTool(threads), scratch.path, { pattern: EVIL }, clock.signal)
  const note = '(stopped looking after 30 s: use a narrower path or pattern)'
  assert.equal(grep.text, `a:1: found\na:3: found\n\n${note}`)
  assert.deepEqual(grep.metadata, { count: 2, truncated: true })
  const glob = await run(globTool, scratch.path, { pattern: '*' }, AbortSignal.abort(timedOut))
  assert.deepEqual(glob, { text: `(no file matches)\n\n${note}`, metadata: { count: 0, truncated: true } })
  for (const reason of [new Error('interrupted'), timedOut]) {
    const late = run(grepTool(threads), scratch.path, { pattern: 'found' }, AbortSignal.abort(reason))
    if (reason === timedOut) assert.equal((await late).text, `(no line matches)\n\n${note}`)
    else await assert.rejects(late, reason)
  }
})

test('glob and grep report that directories are too deep for them', async () => {
  using scratch = scratchDirectory()
  await using threads = new SearchThreads()
  await writeFiles(scratch.path, { [join(...Array<string>(66).fill('d'), 'deep')]: 'found', top: 'found' })
  const note = '(directories more than 64 levels deep were not looked into: use a deeper path)'
  const glob = await run(globTool, scratch.path, { pattern: '**/*' })
  assert.deepEqual(glob, { text: `top\n\n${note}`, metadata: { count: 1, truncated: true } })
  const grep = await run(grepTool(threads), scratch.path, { pattern: 'found' })
  assert.deepEqual(grep, { text: `top:1: found\n\n${note}`, metadata: { count: 1, truncated: true } })
})

test('matches of many files, in more texts than are searched at once, come in order up to the limit', async () => {
  using scratch = scratchDirectory()
  await using threads = new SearchThreads()
  const text = `${'x'.repeat(99)}\n`.repeat(10_000)
  const files = Array.from({ length: 12 }, (_, index) => [`f${String(index).padStart(2, '0')}`, `${text}found ä\n`])
  await writeFiles(scratch.path, Object.fromEntries(files))
  const { text: answer } = await run(grepTool(threads), scratch.path, { pattern: 'found ä$' })
  assert.deepEqual(
    answer.split('\n'),
    files.map(([name]) => `${name}:10001: found ä`),
  )
})

test('one thread serves searches that follow each other; one in which a search was cut off serves no other', async () => {
  using scratch = scratchDirectory()
  await using threads = new SearchThreads()
  await writeFiles(scratch.path, { a: 'found', b: `${'a'.repeat(200)}!` })
  const never = new AbortController().signal
  const first = await threads.take(never)
  await first[Symbol.asyncDispose]()
  for (let i = 0; i < 20; i++) await run(grepTool(threads), scratch.path, { pattern: 'found' })
  const same = await threads.take(never)
  assert.equal(same, first)
  await same[Symbol.asyncDispose]()
  const stop = new AbortController()
  const cut = run(grepTool(threads), scratch.path, { pattern: EVIL }, stop.signal)
  setTimeout(() => stop.abort(new Error('interrupted')), 300)
  await assert.rejects(cut, { message: 'interrupted' })
  await using other = await threads.take(never)
  assert.notEqual(other, first)
})

test('at most eight search at once; a waiting search gets the next thread, or leaves with its signal', async () => {
  await using threads = new SearchThreads()
  const never = new AbortController().signal
  const taken = await Promise.all(Array.from({ length: 8 }, () => threads.take(never)))
  const stop = new AbortController()
  const left = threads.take(stop.signal)
  let got = 0
  const waiting = [threads.take(never), threads.take(never)].map((each) => each.finally(() => got++))
  stop.abort(new Error('enough'))
  await assert.rejects(left, { message: 'enough' })
  assert.equal(got, 0)
  await taken[0]?.[Symbol.asyncDispose]()
  await waitFor('one of those who wait has the thread that was given back', () => got === 1)
  // A thread that ends makes room as well.
  await taken[1]?.end()
  await Promise.all(waiting)
})

test('a thread that is about to end is not taken, and is counted until it has ended', async () => {
  await using threads = new SearchThreads()
  const never = new AbortController().signal
  const first = await threads.take(never)
  await first[Symbol.asyncDispose]()
  // As it does after being idle for a while.
  const ended = first.end()
  await using other = await threads.take(never)
  assert.notEqual(other, first)
  await other.search({ source: 'a', flags: '', limit: 1, texts: [] }, never, () => {})
  await ended
})

test('a search reports when it lacked memory', async () => {
  await using threads = new SearchThreads()
  const never = new AbortController().signal
  const search = async (act: (thread: SearchThread) => void, source: string) => {
    await using thread = await threads.take(never)
    // Four million lines, which alone take more memory than a thread has.
    thread.memory.fill('\n')
    const texts = Array.from({ length: 40 }, () => ({ start: 0, length: SEARCH_BYTES }))
    const searching = thread.search({ source, flags: '', limit: 2 ** 31, texts }, never, () => {})
    act(thread)
    await searching
  }
  await assert.rejects(
    search(() => {}, '^'),
    { kind: 'search_failed', message: 'The search took too much memory' },
  )
  const ended = search((thread) => void thread.end(), 'x')
  await assert.rejects(ended, { kind: 'search_failed', message: 'The thread that searched has failed' })
})
