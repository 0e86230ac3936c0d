import type { AnyTool } from "../../agent/tool/Tool.ts";

/**
 * How much depends on a checkpoint. `critical`: without it the operation does not start. `high`: it is durable before the
 * run continues. `normal`: the run continues while it is being stored.
 */
export type TriggerPriority = "critical" | "high" | "normal";

/** Decides when checkpoints are made. Write your own as an object of this shape. */
export interface CheckpointTrigger {
  /**
   * Stored with its checkpoints as their `trigger`, except that of `afterNode()`. Must not be a name that events use
   * themselves, such as `run_started`.
   */
  readonly name: string;
  readonly priority: TriggerPriority;
  /**
   * Whether a checkpoint is due; `"unchanged"`: it would be, had anything changed since the last one. Must be quick. If it
   * throws, a `trigger_failed` event is emitted and the checkpoint is made.
   */
  readonly isDue: (moment: TriggerMoment) => boolean | "unchanged";
}

/** A moment of a run at which a checkpoint may be due. */
export type TriggerMoment = SinceCheckpoint &
  (
    | {
        readonly kind: "node_completed";
        readonly nodeId: string;
        /** Paths of the subgraphs that ended with the node, innermost first. */
        readonly left: readonly string[];
      }
    | {
        /** A tool is about to run, or has run; not for calls that are replayed. */
        readonly kind: "tool_call_starting" | "tool_call_completed";
        readonly nodeId: string;
        readonly tool: AnyTool;
        readonly input: unknown;
        /** The tool has run and failed, or its outcome is not known: it may have had an effect. Absent: it did not fail. */
        readonly failed?: true;
      }
    | {
        /** A node gets an answer from outside for the first time. */
        readonly kind: "request_answered";
        readonly nodeId: string;
        readonly requestId: string;
      }
  );

/** Changes since the last checkpoint of the run, or since it began in this process. */
export interface SinceCheckpoint {
  /** Milliseconds, by the configured clock. */
  readonly elapsedMs: number;
  /**
   * Whether a checkpoint now would differ from the last one: in what was recorded since, in the node that runs next or its
   * input, or in progress.
   */
  readonly changed: boolean;
  /** Roughly how many bytes were stored since, or are to be stored, the input of the next node included. */
  readonly grownBytes: number;
}
