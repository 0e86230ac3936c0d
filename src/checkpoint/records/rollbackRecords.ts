import type { Pack } from "../values/BlobCell.ts";
import type { StoredValue } from "../values/valueCodec.ts";

/** A rollback starts. `calls` are reverted in this order. `closed` are all calls after the target. */
export interface RollbackRecord {
  readonly kind: "rollback";
  readonly target: number;
  /** The version of the common ancestor in a redo. `undefined` if the target is an ancestor of the head. */
  readonly base?: number;
  readonly calls: readonly string[];
  readonly closed: readonly string[];
  readonly participants?: readonly PlannedSteps[];
}

/** Steps are planned before anything is reverted. */
export interface PlannedSteps {
  readonly key: string;
  readonly steps: StoredValue;
  /** Whether a redo repeats reverted changes. `undefined` if there are no reverted changes on its way. */
  readonly redone?: boolean;
  readonly packs?: readonly Pack[];
}

/** A participant has applied a planned step, counted from 0. With `error`, the caller left the step unapplied. */
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

/** An inverse has settled. With `error`, the call is not reverted, and the next rollback retries it. */
export interface RevertedRecord {
  readonly kind: "reverted";
  readonly call: string;
  readonly error?: { readonly message: string };
  /** Who resolved an inverse that was in doubt or had failed. `undefined` if the inverse settled normally. */
  readonly settled?: "probe" | "handler" | "outside";
  readonly left?: true;
}

/** A rollback has finished. The run continues here, and runs that finished after `target` are unfinished. */
export interface RollbackEndRecord {
  readonly kind: "rollback_end";
  readonly target: number;
  readonly base?: number;
  /** The result of the rollback for repeated requests. Earlier versions omit it. */
  readonly report?: StoredValue;
}
