import type { Pack } from "../values/BlobCell.ts";
import type { StoredValue } from "../values/valueCodec.ts";

/** A rollback begins: `calls` are reverted in this order; `closed` are all calls below the target, reverted or not. */
export interface RollbackRecord {
  readonly kind: "rollback";
  readonly target: number;
  readonly calls: readonly string[];
  readonly closed: readonly string[];
  /** Who takes back its own notes below the target, and by which steps. Absent: nobody has any there. */
  readonly participants?: readonly PlannedSteps[];
}

/** What one participant does in a rollback, decided before anything was taken back. */
export interface PlannedSteps {
  readonly key: string;
  /** A list, in the order in which the steps are taken. */
  readonly steps: StoredValue;
  /** Contents that the steps name by hash and that the log did not have before. Absent: none. */
  readonly packs?: readonly Pack[];
}

/** A participant has taken this one of its planned steps, counted from 0. */
export interface RollbackStepRecord {
  readonly kind: "rollback_step";
  readonly key: string;
  readonly step: number;
}

/** An inverse is about to run. */
export interface InverseRecord {
  readonly kind: "inverse";
  readonly call: string;
}

/** An inverse has ended; with `error` the call's effect stands, and the next rollback tries again. */
export interface RevertedRecord {
  readonly kind: "reverted";
  readonly call: string;
  readonly error?: { readonly message: string };
  /** Who said so of an inverse in doubt, or of one that fails; absent: it ended so by itself. */
  readonly settled?: "probe" | "handler" | "outside";
  /** Settled: it is not tried again. */
  readonly left?: true;
}

/** A rollback has ended; the checkpoint in the same append is where the run goes on. Runs that ended after `target` have not. */
export interface RollbackEndRecord {
  readonly kind: "rollback_end";
  readonly target: number;
}
