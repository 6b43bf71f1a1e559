import assert from 'node:assert/strict'
import { test } from 'node:test'
import { titleIn } from './title.ts'

test('a title is the first line with words, without its surroundings', () => {
  assert.equal(titleIn('\n  \n# "A  `title`" \n\nMore'), 'A  `title')
  assert.equal(titleIn('**Bold**'), 'Bold')
  assert.equal(titleIn('C#'), 'C#')
  assert.equal(titleIn('```\n“Quoted”\n```'), 'Quoted')
  assert.equal(titleIn(' \n""\n'), undefined)
  assert.equal(titleIn('x'.repeat(99).concat('😀')), `${'x'.repeat(99)}\ufffd`)
})

// A regular expression takes minutes for each.
test('an answer of many spaces is handled fast', () => {
  const spaces = ' '.repeat(1_000_000)
  assert.equal(titleIn(`a${spaces}b`)?.length, 100)
  assert.equal(titleIn(spaces), undefined)
})
