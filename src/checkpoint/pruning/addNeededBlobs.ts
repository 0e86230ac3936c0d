import { isRestating } from "../format/ShapeRecord.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { addAllBlobs, blobCellsOf } from "../records/blobReferences.ts";
import type { LogRecord } from "../records/Entry.ts";
import type { StoredValue } from "../values/valueCodec.ts";

/**
 * Adds the blobs that a record of any kind of log needs to a map from reference to length in bytes. Add records in
 * order: records before a pruning or a restatement count only as restated.
 */
export function addNeededBlobs(record: LogRecord, into: Map<string, number>): void {
  const { restated } = record as { readonly restated?: unknown };
  const isPruning = record.kind === "pruned" && Array.isArray(restated);
  if (isPruning || isRestating(record)) into.clear();
  const stated = isPruning ? (restated as RestatedEntries).flatMap(({ records }) => records) : [record as AgentRecord];
  for (const each of stated) addAllBlobs(each, into);
  for (const [reference, bytes] of valuesOfShapes(record).flatMap(blobCellsOf)) into.set(reference, bytes);
}

type RestatedEntries = readonly { readonly records: readonly AgentRecord[] }[];

/** Threads and sessions store values in lists of items. Threads also store them in tool calls. */
function valuesOfShapes(record: LogRecord): readonly StoredValue[] {
  const { items, input, end } = record as ValuesOfShapes;
  const { output, command } = Object(end) as NonNullable<ValuesOfShapes["end"]>;
  const values = [...(Array.isArray(items) ? (items as readonly StoredValue[]) : []), input, output, command];
  return values.filter((value) => value !== undefined);
}

interface ValuesOfShapes {
  readonly items?: unknown;
  readonly input?: StoredValue;
  readonly end?: { readonly output?: StoredValue; readonly command?: StoredValue };
}
