import type { ToolEffect } from "../../agent/tool/Tool.ts";
import type { ToolCallSettlement } from "./ToolCallSettlement.ts";

/** A tool call that began and whose end is not recorded: it may have had its effect. */
export interface ToolCallInDoubt {
  readonly agentId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  /** The node that made the call. */
  readonly nodeId: string;
  /** As the tool declared it when the call began. */
  readonly effect: ToolEffect;
  /** As the model or the caller wrote it. */
  readonly input: unknown;
  /** For an inverse that began and did not end: the call that it takes back. Absent: it is no inverse. */
  readonly reverts?: string;
  /** What was said about the call, where that does not end the doubt. Absent: nothing yet. */
  readonly settled?: "retry" | "unknown";
}

/**
 * Who decides about a call in doubt. `"ask"`: a person, from outside, so the run stops. `"retry"`: every such call is made
 * again under its id. A function decides call by call; what it throws stops the run, and the call stays in doubt.
 */
export type OnToolCallInDoubt =
  | "ask"
  | "retry"
  | ((call: ToolCallInDoubt) => ToolCallSettlement | PromiseLike<ToolCallSettlement>);
