import type { AnyTool } from "../../agent/tool/Tool.ts";

/**
 * How much depends on a checkpoint. `critical`: no checkpoint, no operation. `high`: it is durable before the run goes on.
 * `normal`: the run goes on while it is being stored.
 */
export type TriggerPriority = "critical" | "high" | "normal";

/** Decides when checkpoints are made. Write your own as an object of this shape. */
export interface CheckpointTrigger {
  /**
   * Stored with its checkpoints, as their `trigger`, except that of `afterNode()`. Not one of those that events have of their
   * own, such as `run_started`.
   */
  readonly name: string;
  readonly priority: TriggerPriority;
  /**
   * Whether a checkpoint is due at a moment; `"unchanged"`: it would be, if anything had changed since the last one. Must
   * be quick. What it throws is told as `trigger_failed`, and the checkpoint is made.
   */
  readonly isDue: (moment: TriggerMoment) => boolean | "unchanged";
}

/** Something happens in a run, at which a checkpoint may be due. */
export type TriggerMoment = SinceCheckpoint &
  (
    | {
        readonly kind: "node_completed";
        readonly nodeId: string;
        /** Paths of the subgraphs that ended with the node, innermost first. */
        readonly left: readonly string[];
      }
    | {
        /** A tool is about to run, or has run. Not told of calls that are answered from the record. */
        readonly kind: "tool_call_starting" | "tool_call_completed";
        readonly nodeId: string;
        readonly tool: AnyTool;
        readonly input: unknown;
      }
    | {
        /** A node gets an answer that came from outside, for the first time. */
        readonly kind: "request_answered";
        readonly nodeId: string;
        readonly requestId: string;
      }
  );

/** What went on since the last checkpoint of the run, or since it began in this process. */
export interface SinceCheckpoint {
  /** Milliseconds, by the configured clock. */
  readonly elapsedMs: number;
  /** How much there is to store or was stored since, roughly, in bytes. */
  readonly grownBytes: number;
}
