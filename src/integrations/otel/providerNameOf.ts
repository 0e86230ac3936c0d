/** Providers of the AI SDK whose names differ from those of the conventions, by the first words of their names. */
const known: readonly (readonly [prefix: string, name: string])[] = [
  ["google.vertex", "gcp.vertex_ai"],
  ["google.generative-ai", "gcp.gemini"],
  ["amazon-bedrock", "aws.bedrock"],
  ["azure", "azure.ai.openai"],
  ["mistral", "mistral_ai"],
  ["xai", "x_ai"],
];

/** A provider under the name that the conventions have for it: `openai.chat` is `openai`. */
export function providerNameOf(provider: string): string {
  const found = known.find(([prefix]) => provider === prefix || provider.startsWith(`${prefix}.`));
  if (found) return found[1];
  return /^(?:openai|anthropic|cohere|deepseek|groq|perplexity)(?=\.)/.exec(provider)?.[0] ?? provider;
}
