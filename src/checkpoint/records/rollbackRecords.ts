import type { Pack } from "../values/BlobCell.ts";
import type { StoredValue } from "../values/valueCodec.ts";

/** Starts a rollback. `calls` are reverted in this order. `closed` contains all calls after the target. */
export interface RollbackRecord {
  readonly kind: "rollback";
  readonly target: number;
  /** The common ancestor of the head and the target of a redo. Omitted if the target is an ancestor of the head. */
  readonly base?: number;
  readonly calls: readonly string[];
  readonly closed: readonly string[];
  /** Set if the rollback leaves effects that it cannot revert, also when another process finishes the rollback. */
  readonly onFailure?: "leave";
  readonly participants?: readonly PlannedSteps[];
}

/** The steps of a participant, which are planned before the rollback reverts anything. */
export interface PlannedSteps {
  readonly key: string;
  readonly steps: StoredValue;
  /** Whether a redo repeats changes that an earlier rollback reverted. Omitted if there are no reverted changes. */
  readonly redone?: boolean;
  readonly packs?: readonly Pack[];
}

/** A participant has taken a planned step, counted from 0. With `error`, the caller skipped the step. */
export interface RollbackStepRecord {
  readonly kind: "rollback_step";
  readonly key: string;
  readonly step: number;
  readonly error?: { readonly message: string };
  readonly outcome?: StoredValue;
}

export interface InverseRecord {
  readonly kind: "inverse";
  readonly call: string;
}

/** A call was reverted. With `error`, its inverse failed, and the next rollback retries the inverse. */
export interface RevertedRecord {
  readonly kind: "reverted";
  readonly call: string;
  readonly error?: { readonly message: string };
  /** Who settled the inverse after it was in doubt or failed. Omitted if the inverse ended normally. */
  readonly settled?: "probe" | "handler" | "outside";
  readonly left?: true;
}

/** Ends a rollback. The run continues at `target`, and runs that finished after `target` are unfinished again. */
export interface RollbackEndRecord {
  readonly kind: "rollback_end";
  readonly target: number;
  readonly base?: number;
  /** The result of the rollback, for callers that repeat it. Earlier versions omit this field. */
  readonly report?: StoredValue;
}
