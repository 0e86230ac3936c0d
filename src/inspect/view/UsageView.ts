/** Numbers of tokens. A number is omitted if the provider did not report it. */
export interface UsageView {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  /** The part of `inputTokens` that the provider read from its cache. */
  readonly cachedInputTokens?: number;
}
