import type { AiSdkToolOutput } from "./AiSdkPrompt.ts";
import { jsonValueOf } from "./jsonValueOf.ts";

/** A tool's output, wrapped as the AI SDK wants it. */
export function toolOutputOf(output: unknown, isError: boolean): AiSdkToolOutput {
  if (typeof output === "string") return { type: isError ? "error-text" : "text", value: output };
  return { type: isError ? "error-json" : "json", value: jsonValueOf(output) };
}
