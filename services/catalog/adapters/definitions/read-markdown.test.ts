import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitFrontMatter } from './read-markdown.ts'

test('front matter is the text between the first two fences', () => {
  const cases: readonly (readonly [text: string, matter: string, body: string])[] = [
    ['---\na: 1\nb: 2\n---\n\nText\n', 'a: 1\nb: 2', 'Text'],
    ['\uFEFF---\r\na: 1\r\n---\r\nText\r\nmore', 'a: 1', 'Text\nmore'],
    ['---\n---\nText', '', 'Text'],
    ['---\na: 1\n---', 'a: 1', ''],
    ['Text\n---\na: 1\n---\n', '', 'Text\n---\na: 1\n---'],
    ['---\na: 1\nno end', '', '---\na: 1\nno end'],
    ['---\na: 1\n----\n---\nText', 'a: 1\n----', 'Text'],
    ['', '', ''],
  ]
  for (const [text, matter, body] of cases) assert.deepEqual(splitFrontMatter(text), { matter, body }, text)
})
