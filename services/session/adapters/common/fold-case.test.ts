import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldCase } from './fold-case.ts'

test('texts that differ only in letter case, or in the composition of characters, are the same', () => {
  const same = [
    ['ΟΔΥΣΣΕΥΣ', 'Οδυσσευς', 'οδυσσευσ'],
    ['STRASSE', 'Straße', 'STRAẞE', 'strasse'],
    ['İSTANBUL', 'istanbul', 'ISTANBUL', 'ıstanbul'],
    ['ﬁnd', 'FIND'],
    ['ΆΔΗΣ', 'άδης', 'άδης'.normalize('NFD')],
    ['ÉTÉ', 'été', 'été'.normalize('NFD')],
    ['ǅ', 'Ǆ', 'ǆ'],
    ['K', 'k'],
  ]
  for (const [first = '', ...others] of same) {
    for (const other of others) assert.equal(foldCase(other), foldCase(first), other)
  }
  assert.notEqual(foldCase('été'), foldCase('ete'))
})

test('every character is folded as its upper and its lower case are, and once', () => {
  for (let code = 0; code <= 0x10_ff_ff; code++) {
    const character = String.fromCodePoint(code)
    const folded = foldCase(character)
    if (folded === character && character.toUpperCase() === character) continue
    const forms = [foldCase(character.toUpperCase()), foldCase(character.toLowerCase()), foldCase(folded)]
    assert.deepEqual(forms, [folded, folded, folded], `U+${code.toString(16)}`)
  }
})
