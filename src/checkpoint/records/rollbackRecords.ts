import type { Pack } from "../values/BlobCell.ts";
import type { StoredValue } from "../values/valueCodec.ts";

/** A rollback begins: `calls` are reverted in this order; `closed` are all calls below the target, reverted or not. */
export interface RollbackRecord {
  readonly kind: "rollback";
  readonly target: number;
  /**
   * The version of the common ancestor of the head and the target. Absent: the target is an ancestor of the head. Otherwise it is on
   * a branch that was left, and the rollback is a redo.
   */
  readonly base?: number;
  readonly calls: readonly string[];
  readonly closed: readonly string[];
  /** The participants with notes below the target, and their steps. Absent: there are none. */
  readonly participants?: readonly PlannedSteps[];
}

/** The steps of one participant in a rollback, planned before anything was reverted. */
export interface PlannedSteps {
  readonly key: string;
  /** A list, in the order in which the steps are applied. */
  readonly steps: StoredValue;
  /**
   * Only in a redo, for a participant with notes on the way to the target that an earlier rollback reverted: whether the steps make
   * these changes again.
   */
  readonly redone?: boolean;
  /** Contents that the steps name by hash and that the log did not have before. Absent: none. */
  readonly packs?: readonly Pack[];
}

/** A participant has applied this one of its planned steps, counted from 0; with `error`, the caller left it unapplied. */
export interface RollbackStepRecord {
  readonly kind: "rollback_step";
  readonly key: string;
  readonly step: number;
  readonly error?: { readonly message: string };
  /** What the participant says of it, for the report. Absent: nothing. */
  readonly outcome?: StoredValue;
}

/** An inverse is about to run. */
export interface InverseRecord {
  readonly kind: "inverse";
  readonly call: string;
}

/** An inverse has ended. With `error` the call is not reverted, and the next rollback tries again. */
export interface RevertedRecord {
  readonly kind: "reverted";
  readonly call: string;
  readonly error?: { readonly message: string };
  /** Who resolved an inverse that was in doubt or failed. Absent: it ended by itself. */
  readonly settled?: "probe" | "handler" | "outside";
  /** Resolved: it is not tried again. */
  readonly left?: true;
}

/** A rollback has ended; the run continues from the checkpoint in the same append. Runs that ended after `target` are open again. */
export interface RollbackEndRecord {
  readonly kind: "rollback_end";
  readonly target: number;
  /** As in the `rollback`. */
  readonly base?: number;
  /** What the rollback did, for whoever asks for the same one again. Absent: an earlier version wrote the record. */
  readonly report?: StoredValue;
}
