import type { Place } from "../records/SnapshotRecord.ts";
import type { BlobCell } from "../values/BlobCell.ts";

/** Where a content is in the blob that packs it. */
export interface ContentPlace {
  readonly blob: string;
  readonly offset: number;
  readonly bytes: number;
}

/** What is known of a whole log, from its snapshots on. */
export class LogFacts {
  /** Finished runs, with the checkpoint at their end. */
  readonly runs = new Map<string, Place>();
  /** The cancelled ones among the finished runs. */
  readonly cancelled = new Set<string>();
  /** Checkpoints with a given id. */
  readonly named = new Map<string, Place>();
  readonly structures = new Set<string>();
  /** Calls below the target of a rollback: they no longer belong to any lane. */
  readonly closed = new Set<string>();
  /** Calls whose inverse has begun and not ended: it may have had its effect. */
  readonly inverting = new Set<string>();
  /** Calls whose inverse has run. */
  readonly reverted = new Set<string>();
  /** Calls that a probe, a handler or the user decided not to revert, with the reason. */
  readonly left = new Map<string, string>();
  /** Calls whose end is recorded, on any lane. */
  readonly ended = new Set<string>();
  /** The steps of the open rollback that are done, by the key of the participant, each with the reason if it was left. */
  readonly stepsTaken = new Map<string, Map<number, string | undefined>>();
  /** The contents of notes and steps, by their SHA-256 in hex. */
  readonly contents = new Map<string, ContentPlace>();
  /** The blobs that contain values of records, by reference. */
  readonly valueBlobs = new Map<string, BlobCell>();

  /** @param shared what is known already: both then know what either learns. Default: nothing. */
  constructor(shared?: LogFacts) {
    if (shared) Object.assign(this, factsOf(shared));
  }
}

function factsOf(facts: LogFacts): LogFacts {
  const { runs, cancelled, named, structures, closed, inverting, reverted, left, ended } = facts;
  const { stepsTaken, contents, valueBlobs } = facts;
  return {
    runs,
    cancelled,
    named,
    structures,
    closed,
    inverting,
    reverted,
    left,
    ended,
    stepsTaken,
    contents,
    valueBlobs,
  };
}
