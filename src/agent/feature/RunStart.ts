import type { RunLine } from "../../checkpoint/toolCallId.ts";
import type { RunStateSeed } from "../state/RunState.ts";

/** Where and with what a run begins, or goes on after a move. */
export interface RunStart {
  /** A node path; "start" to evaluate the start edges of the strategy with `input`; "finish" when `input` is the output of the strategy. */
  readonly nodeId: string;
  readonly input: unknown;
  /** `input` is the output of `nodeId`, whose edges are to be evaluated; the node does not run again. */
  readonly unresolved?: true;
  readonly state: RunStateSeed;
  /** What the ids of tool calls are bound to. */
  readonly line: RunLine;
  /** The owner's fencing token, handed to tools. */
  readonly generation: number;
  /** What the first visit is counted from, such as the position of a checkpoint. */
  readonly visitBase: number;
  /** The visits already made since `visitBase`. */
  readonly visitOrdinal: number;
  readonly runId: string;
  /** Whether a call made before, perhaps under another line, is recorded here and keeps its id. Absent: none is. */
  readonly isRecordedCall?: (toolCallId: string) => boolean;
}
