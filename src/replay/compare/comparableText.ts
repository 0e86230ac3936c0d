import { canonicalText } from "../../checkpoint/values/isSameValue.ts";

/** The keys of message parts that differ between runs of the same code. */
const volatileKeys: ReadonlySet<string> = new Set(["toolCallId", "providerToolCallId", "providerOptions"]);

/** Returns a value as text that is equal for equal values. The ids in parts of messages do not count. */
export function comparableText(value: unknown): string {
  return canonicalText(withoutIds(value)) ?? "";
}

function withoutIds(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutIds);
  const isPart = typeof (value as { readonly type?: unknown }).type === "string";
  const entries = Object.entries(value).filter(([key]) => !isPart || !volatileKeys.has(key));
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutIds(item)]));
}
