import { z } from 'zod'

const target = z.string().meta({ description: 'The configured specifier of a package' })

/** Body of plugin.check. */
export const checkPluginsBody = z.strictObject({
  target: target.nullish().meta({ description: 'Absent or null: all packages' }),
})

/** Body of plugin.update. */
export const updatePluginsBody = z.strictObject({ targets: z.array(target) })
