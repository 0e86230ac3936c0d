import { ToolFailedError } from "../../errors/toolCallErrors.ts";

export function failedCallsIn(error: unknown): readonly string[] {
  const calls = new Set<string>();
  const seen = new Set<unknown>();
  const left = [error];
  for (const found of left) {
    if (seen.has(found)) continue;
    seen.add(found);
    if (found instanceof ToolFailedError)
      for (const call of [found.toolCallId, ...(found.failedCalls ?? [])]) calls.add(call);
    left.push(...causesOf(found));
  }
  return [...calls];
}

/** Ignores getters that throw, because thrown values can have any form. */
function causesOf(error: unknown): readonly unknown[] {
  try {
    if (!(error instanceof Error)) return [];
    const { cause, errors } = error as { readonly cause?: unknown; readonly errors?: unknown };
    return [...(cause === undefined ? [] : [cause]), ...(Array.isArray(errors) ? errors : [])];
  } catch {
    return [];
  }
}
