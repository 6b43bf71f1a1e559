// Preloaded by the commands of package.json and by the image: caches what Node compiles, so that the next start is
// faster and needs no compiler that strips types, which takes 20 MB. If nothing can be written, it does nothing.
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/portico', import.meta.url)))
