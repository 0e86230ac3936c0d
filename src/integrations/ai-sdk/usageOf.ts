import { addUsage, type ModelUsage } from "../../checkpoint/status/ModelUsage.ts";

/** The usage of specification v2. */
interface FlatUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly cachedInputTokens?: number;
  readonly reasoningTokens?: number;
}

/** The usage of specifications v3 and v4. */
interface NestedUsage {
  readonly inputTokens: Readonly<Record<"total" | "noCache" | "cacheRead" | "cacheWrite", number | undefined>>;
  readonly outputTokens: Readonly<Record<"total" | "text" | "reasoning", number | undefined>>;
}

/**
 * Converts the reported token usage to the form that the AI SDK displays. Returns `undefined` if the model reports no
 * usage.
 */
export function usageOf(usage: unknown): ModelUsage | undefined {
  const given = Object(usage) as FlatUsage | NestedUsage;
  return addUsage(isNested(given) ? ofNested(given) : ofFlat(given), undefined);
}

function isNested(usage: FlatUsage | NestedUsage): usage is NestedUsage {
  return isObject(usage.inputTokens) && isObject(usage.outputTokens);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function ofNested({ inputTokens, outputTokens }: NestedUsage): ModelUsage {
  const { total: input } = inputTokens;
  const { total: output } = outputTokens;
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input === undefined || output === undefined ? undefined : input + output,
    inputTokenDetails: {
      noCacheTokens: inputTokens.noCache,
      cacheReadTokens: inputTokens.cacheRead,
      cacheWriteTokens: inputTokens.cacheWrite,
    },
    outputTokenDetails: { textTokens: outputTokens.text, reasoningTokens: outputTokens.reasoning },
  };
}

function ofFlat({ inputTokens, outputTokens, totalTokens, cachedInputTokens, reasoningTokens }: FlatUsage): ModelUsage {
  return {
    inputTokens,
    outputTokens,
    totalTokens,
    inputTokenDetails: { cacheReadTokens: cachedInputTokens },
    outputTokenDetails: { reasoningTokens },
  };
}
