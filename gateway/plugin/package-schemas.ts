import { z } from 'zod'

const target = z.string().meta({ description: 'Specifier of a package, as it is configured' })

/** Body of plugin.check. */
export const checkPluginsBody = z.strictObject({
  target: target.nullish().meta({ description: 'Absent or null: all packages' }),
})

/** Body of plugin.update. */
export const updatePluginsBody = z.strictObject({ targets: z.array(target) })
