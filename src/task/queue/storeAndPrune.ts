import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import type { ShapedLog } from "../../journal/shape/ShapedLog.ts";
import type { ShapeState } from "../../journal/shape/ShapeDefinition.ts";

/** A log is pruned after this many appends. */
const pruneEvery = 256;

/** Stores a record in a log whose state depends on its last records only, and prunes the log now and then. */
export async function storeAndPrune<Rec extends LogRecord, State extends ShapeState<Rec>>(
  log: ShapedLog<Rec, State>,
  record: Rec,
): Promise<void> {
  await log.store([record]);
  if (log.position % pruneEvery === 0) await log.prune();
}
