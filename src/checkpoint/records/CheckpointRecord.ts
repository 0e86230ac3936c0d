import type { ModelUsage } from "../status/ModelUsage.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import type { Visit } from "./Visit.ts";

/**
 * A point to continue from: the node that runs next and its input. Its parent is the checkpoint before it in its lane, or
 * the one its lane begins from. Absent: `id` when it is `<generation>-<version>`, `visit` when a new one begins here.
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
  /** `input` is the output of `node`, whose edges threw or did not match: only they are evaluated again. */
  readonly unresolved?: true;
  readonly visit?: Visit;
  readonly iteration: number;
  /** The tokens of all model requests of the run so far, on any lane. Absent: unknown. */
  readonly usage?: ModelUsage;
  readonly progress?: number;
  readonly summary?: string;
  /** The end of a run: `input` is its output. */
  readonly status?: "completed" | "cancelled";
  /** The digest of the input of the completed run. Absent: unknown. */
  readonly digest?: string;
  /** Why it was cancelled or edited. */
  readonly reason?: string;
  /** The result of the output's verification. Absent: it was not verified. */
  readonly verification?: readonly StoredValue[];
  /** The paths of the files that the completed run has changed, a sorted list. Absent: none. */
  readonly files?: StoredValue;
  readonly move?: "rollback" | "execution_point" | "branch" | "fork" | "edit" | "migration";
  /** Who edited, as the caller said. Not trusted. Absent: it is no edit. */
  readonly by?: string;
  /** Why it was made, where that does not follow from the rest: absent for one at the start or end of a run, after a node, or by a move. */
  readonly trigger?: string;
  /** For an execution point: the calls whose effects it left standing. */
  readonly standing?: readonly string[];
  /** The end of a nested line: `input` is its output. The end of a run has `status` instead. */
  readonly ended?: true;
  /** The version of the checkpoint whose branches were joined: `node` is the same again, and merges their outputs next. */
  readonly joined?: number;
}
