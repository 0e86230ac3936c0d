import type { Message } from "../../checkpoint/messages/Message.ts";
import { describeError } from "../../journal/describeError.ts";
import type { RecordedToolCall } from "../recording/Recording.ts";
import { sameValue } from "./sameValue.ts";

/** The first point at which a replayed run differs from its recording. */
export interface Divergence {
  /**
   * - `request`: a model request differs. `messages` shows the different messages.
   * - `call`: a tool call differs, is missing, or is not recorded.
   * - `input`: a request for input, a sleep or the receipt of an event is not recorded.
   * - `path`: another node runs next, or the run moves.
   * - `output`: the output of a node or of the run differs.
   * - `messages`: a node leaves other messages in the history.
   * - `branches`: a parallel node starts a branch that is not recorded.
   * - `failure`: a node failed, or no longer fails.
   */
  readonly what: "request" | "call" | "input" | "path" | "output" | "messages" | "branches" | "failure";
  /** The path of the node. */
  readonly nodeId: string;
  /** The branch of the node, such as `both#facts`. `undefined` outside branches. */
  readonly branch?: string;
  /** The tool names on the path to the sub-agent of the node. Empty for the agent of the run. */
  readonly agentPath: readonly string[];
  /** The recorded value. `undefined` if nothing is recorded here. */
  readonly expected?: unknown;
  /** The value of the replayed run. `undefined` if the replayed run does not have this value. */
  readonly actual?: unknown;
  /** Why the log cannot show more. `undefined` if the difference is certain. */
  readonly reason?: string;
  /** The messages that differ. Empty if the history is the same. */
  readonly messages: readonly MessageDifference[];
}

/** A message that differs at an index of the history. */
export interface MessageDifference {
  readonly index: number;
  /** `undefined` if the recorded history has no message here. */
  readonly expected?: Message;
  /** `undefined` if the replayed history has no message here. */
  readonly actual?: Message;
}

/** A difference before its place is known. */
export type FoundDifference = Pick<Divergence, "what" | "expected" | "actual" | "reason"> &
  Partial<Pick<Divergence, "messages">>;

/** Returns the messages that differ between two histories, by index. */
export function messageDifferences(
  expected: readonly Message[],
  actual: readonly Message[],
): readonly MessageDifference[] {
  const differences: MessageDifference[] = [];
  for (let index = 0; index < Math.max(expected.length, actual.length); index++) {
    const [before, now] = [expected[index], actual[index]];
    if (before && now && sameValue(before, now)) continue;
    differences.push({ index, ...(before && { expected: before }), ...(now && { actual: now }) });
  }
  return differences;
}

export function shownCall({ toolName, input }: Pick<RecordedToolCall, "toolName" | "input">): unknown {
  return { toolName, input };
}

export function shownError(error: unknown): { readonly name: string; readonly message: string } {
  const { name, message } = describeError(error);
  return { name, message };
}

/** Ends a replayed run at its divergence or at the end of its recording. */
export class ReplayStop extends Error {
  override readonly name = "ReplayStop";

  constructor() {
    super("The replay has ended.");
  }
}
