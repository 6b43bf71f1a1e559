// Imported by compile-cache.mjs. Express requires at once what only some of its functions call, and nothing here does: with all that is below
// it, that was a tenth of what a start took. Each of these packages is a function or has functions as its members, and is read when one is called.
import Module from 'node:module'

const LATER = new Set(['body-parser', 'mime-types', 'qs', 'send', 'serve-static'])

const load = Module._load
Module._load = function loadOrWait(name, ...rest) {
  const loadNow = () => load.call(this, name, ...rest)
  if (!LATER.has(name)) return loadNow()
  return new Proxy(() => {}, {
    apply: (_, self, given) => Reflect.apply(loadNow(), self, given),
    get:
      (_, member) =>
      (...given) =>
        loadNow()[member](...given),
  })
}
