import type { ModelUsage } from "../status/ModelUsage.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import type { Visit } from "./Visit.ts";

/**
 * A point from which a run can continue, with the next node and its input. Its parent is the previous checkpoint on its
 * lane, or the checkpoint from which its lane starts. `id` is omitted if it is `<generation>-<version>`. `visit` is
 * omitted if a new visit starts here.
 */
export interface CheckpointRecord {
  readonly kind: "checkpoint";
  readonly lane: number;
  readonly version: number;
  readonly id?: string;
  readonly at: number;
  readonly node: string;
  readonly input: StoredValue;
  readonly inputType?: string;
  /** `input` is the output of `node`, whose edges threw or did not match. Only the edges are evaluated again. */
  readonly unresolved?: true;
  readonly visit?: Visit;
  readonly iteration: number;
  /** The tokens of all model requests of the run so far, on any lane. `undefined` if unknown. */
  readonly usage?: ModelUsage;
  readonly progress?: number;
  readonly summary?: string;
  /** Marks the end of a run, with its output as `input`. */
  readonly status?: "completed" | "cancelled";
  readonly digest?: string;
  readonly reason?: string;
  readonly verification?: readonly StoredValue[];
  readonly files?: StoredValue;
  readonly move?: "rollback" | "execution_point" | "branch" | "fork" | "edit" | "migration";
  /** The author of an edit, as stated by the caller and not verified. */
  readonly by?: string;
  /** Why the checkpoint was made. `undefined` at the start or end of a run, after a node, or for a move. */
  readonly trigger?: string;
  /** For an execution point: the calls whose effects remain. */
  readonly standing?: readonly string[];
  /** Marks the end of a nested line, with its output as `input`. */
  readonly ended?: true;
  /**
   * The version of the checkpoint whose branches were joined. `node` is the same node, which merges their outputs next.
   */
  readonly joined?: number;
}

export interface CheckpointPoint {
  /** The given id. `<generation>-<version>` if no id was given, or if a later checkpoint was given the same id. */
  readonly id: string;
  readonly generation: number;
  readonly version: number;
  readonly position: number;
  readonly runId: string;
  readonly parent: number | undefined;
  readonly record: CheckpointRecord;
  readonly order: number;
}
