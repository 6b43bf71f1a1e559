/** Environment variables as a process got them. Only `config.ts` files and entry files touch the real ones. */
export type Environment = Readonly<Record<string, string | undefined>>
