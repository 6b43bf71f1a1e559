import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { findRefused, refusedWords } from './lint-words.ts'

const glossary =
  '| Word | Means | Not |\n|---|---|---|\n| emit | send | `tell`, `told` |\n| request | ask | `ask leave`, `Answers the` |\n'

function found(text: string): string[] {
  return findRefused('a.ts', text, refusedWords(glossary)).map((line) => line.replace(/^a\.ts:|: write .*$/g, ''))
}

test('a refused word is found in prose, in names and across lines, and distinguished from others that contain it', () => {
  assert.deepEqual(found('/** Tell them. */\nconst toldOnce = told_twice'), ['1: "Tell"', '2: "told"', '2: "told"'])
  assert.deepEqual(found('function askLeave() {} // ask\n// leave, ask-leave'), [
    '1: "askLeave"',
    '1: "ask // leave"',
    '2: "ask-leave"',
  ])
  assert.deepEqual(found('intellect, untold, teller, the answers the client got'), [])
  assert.deepEqual(found('/** Answers the key. */'), ['1: "Answers the"'])
})

test('every word of the glossary is in it once', () => {
  const words = readFileSync(new URL('../docs/glossary.md', import.meta.url), 'utf8')
    .split('\n')
    .flatMap((line) => /^\| ([^|]+) \|/.exec(line)?.[1]?.split(', ') ?? [])
    .filter((word) => word !== 'Word')
  assert.ok(words.length >= 40)
  assert.deepEqual(
    words.filter((word, at) => words.indexOf(word) !== at),
    [],
  )
})
