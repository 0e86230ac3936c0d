/** AI SDK providers whose names differ from the conventions, by prefix. */
const known: readonly (readonly [prefix: string, name: string])[] = [
  ["google.vertex", "gcp.vertex_ai"],
  ["google.generative-ai", "gcp.gemini"],
  ["amazon-bedrock", "aws.bedrock"],
  ["azure", "azure.ai.openai"],
  ["mistral", "mistral_ai"],
  ["xai", "x_ai"],
];

/** Returns the provider name of the conventions, such as `openai` for `openai.chat`. */
export function providerNameOf(provider: string): string {
  const found = known.find(([prefix]) => provider === prefix || provider.startsWith(`${prefix}.`));
  if (found) return found[1];
  return /^(?:openai|anthropic|cohere|deepseek|groq|perplexity)(?=\.)/.exec(provider)?.[0] ?? provider;
}
