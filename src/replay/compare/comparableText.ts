import { canonicalText } from "../../checkpoint/values/isSameValue.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";

/** The keys of message parts that differ between runs of the same code. */
const volatileKeys: ReadonlySet<string> = new Set(["toolCallId", "providerToolCallId", "providerOptions"]);

const partTypes: ReadonlySet<unknown> = new Set(["text", "reasoning", "file", "tool-call", "tool-result", "custom"]);

/**
 * Returns a JSON value as text that is equal for equal values. The ids in parts of messages do not count.
 *
 * @throws InvalidInputError for another value, such as a function
 */
export function comparableText(value: unknown): string {
  const text = canonicalText(withoutIds(value));
  if (text !== undefined) return text;
  throw new InvalidInputError("runs of compareRuns()", [{ path: "", expected: "expected JSON values" }]);
}

function withoutIds(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutIds);
  const isPart = partTypes.has((value as { readonly type?: unknown }).type);
  const entries = Object.entries(value).filter(([key]) => !isPart || !volatileKeys.has(key));
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutIds(item)]));
}
