// Imported by compile-cache.mjs. Express immediately requires packages that only some of its functions use, none of
// which are called here; with everything below them, they took a tenth of a start. Each of these packages is a
// function, or has functions as members, and is loaded when one is called.
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
