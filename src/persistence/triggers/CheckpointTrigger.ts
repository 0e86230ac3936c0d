import type { AnyTool } from "../../agent/tool/Tool.ts";

/**
 * The importance of a checkpoint. `critical`: the operation does not start without it. `high`: it is durable before the
 * run continues. `normal`: the run continues while it is stored.
 */
export type TriggerPriority = "critical" | "high" | "normal";

/** Decides when checkpoints are made. You can implement it with an object. */
export interface CheckpointTrigger {
  /**
   * Stored as the `trigger` of its checkpoints, except for `afterNode()`. Must not be a name that events use, such as
   * `run_started`.
   */
  readonly name: string;
  readonly priority: TriggerPriority;
  /**
   * Returns whether a checkpoint is due. `"unchanged"` means that a checkpoint would be due, but the state has not
   * changed since the last one. The function must be fast. If it throws, a `trigger_failed` event is emitted and the
   * checkpoint is made.
   */
  readonly isDue: (moment: TriggerMoment) => boolean | "unchanged";
}

/** A point in a run at which a checkpoint may be due. */
export type TriggerMoment = SinceCheckpoint &
  (
    | {
        readonly kind: "node_completed";
        readonly nodeId: string;
        /** Paths of the subgraphs that finished with the node, innermost first. */
        readonly left: readonly string[];
      }
    | {
        /** A tool is about to run, or has run. Not emitted for replayed calls. */
        readonly kind: "tool_call_starting" | "tool_call_completed";
        readonly nodeId: string;
        readonly tool: AnyTool;
        readonly input: unknown;
        /** True if the tool failed or has an unknown outcome. It may have taken effect. */
        readonly failed?: true;
      }
    | {
        /** A node receives an answer from outside for the first time. */
        readonly kind: "request_answered";
        readonly nodeId: string;
        readonly requestId: string;
      }
  );

/** Changes since the last checkpoint of the run, or since the run started in this process. */
export interface SinceCheckpoint {
  /** Milliseconds by the configured clock. */
  readonly elapsedMs: number;
  /**
   * True if a checkpoint now would differ from the last one. The records, the next node, its input and the progress are
   * compared.
   */
  readonly changed: boolean;
  /**
   * The approximate number of bytes since the last checkpoint, stored or waiting to be stored. Includes the input of
   * the next node.
   */
  readonly grownBytes: number;
}
