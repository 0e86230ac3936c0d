import type { RecordedToolCall } from "../recording/Recording.ts";

/** Returns a call as a divergence shows it. */
export function shownCall({ toolName, input }: Pick<RecordedToolCall, "toolName" | "input">): unknown {
  return { toolName, input };
}
