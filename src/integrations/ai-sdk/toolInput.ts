import type { JsonValue } from "./AiSdkPrompt.ts";
import { jsonValueOf } from "./jsonValueOf.ts";

/**
 * What a model wrote as the input of a call. Text that is no JSON stays text, so that the tool's schema refuses it and
 * the model is told; nothing at all, as some write for a tool without parameters, is an empty object.
 */
export function toolInputOf(written: string): unknown {
  if (written.trim() === "") return {};
  try {
    return JSON.parse(written) as unknown;
  } catch {
    return written;
  }
}

/**
 * The input as it is shown to a model again. Providers take objects only and would refuse the whole request for a
 * malformed one; what was wrong with it says the result of that call.
 */
export function shownInputOf(input: unknown): JsonValue {
  const value = jsonValueOf(input);
  return typeof value === "object" && value !== null ? value : {};
}
