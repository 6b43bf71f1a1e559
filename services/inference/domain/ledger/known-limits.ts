/**
 * The maximum output of models according to their makers, by the beginning of their name, as of November 2026; the
 * first match counts. Price lists do not contain it, and providers refuse a maximum above it.
 */
const OUTPUT_LIMITS: readonly (readonly [RegExp, number])[] = [
  [/^gpt-(3\.5|4-turbo|4-\d{4}-preview|4-vision)/, 4_096],
  [/^gpt-4(-|$)/, 8_192],
  [/^(chatgpt-4o|gpt-4o|gpt-4\.5|gpt-5(\.\d+)?-chat)/, 16_384],
  [/^(gpt-4\.1|o1-preview)/, 32_768],
  [/^o1-mini/, 65_536],
  [/^o\d/, 100_000],
  [/^gpt-[5-9]/, 128_000],
  [/^claude-3-(opus|sonnet|haiku)/, 4_096],
  [/^claude-3[-.]5-/, 8_192],
  [/^claude-opus-4([-.][01])?(-20\d{6}.*)?$/, 32_000],
  [/^claude-opus-4[-.]([6-9]|\d\d)(-|$)/, 128_000],
  [/^claude-/, 64_000],
  [/^gemini-(1\.5|2\.0)/, 8_192],
  [/^gemini-/, 65_536],
  [/^deepseek-reasoner/, 65_536],
  [/^command-r/, 4_096],
  [/^(command-|deepseek-chat|gemma|llama-4-)/, 8_192],
  [/^kimi-k2/, 16_384],
]

/** The maximum output of a model, whoever serves it (`openai/gpt-4o`, `us.anthropic.claude-…`); undefined: unknown. */
export function knownOutputLimit(modelId: string): number | undefined {
  const name = modelId.replace(/^.*(\/|anthropic\.)/, '')
  return OUTPUT_LIMITS.find(([pattern]) => pattern.test(name))?.[1]
}
