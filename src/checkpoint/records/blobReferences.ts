import type { AgentRecord } from "./AgentRecord.ts";
import type { CheckpointRecord } from "./CheckpointRecord.ts";
import { type BlobCell, isBlobCell, type Pack } from "../values/BlobCell.ts";
import { estimateBytes } from "../values/estimateBytes.ts";
import { envelopeKeyOf, type StoredResult, type StoredValue } from "../values/valueCodec.ts";

const none: readonly BlobCell[] = [];

/** Adds the blobs that a record's values are in, by reference. Content that merely looks like a reference is none. */
export function addValueReferences(record: AgentRecord, into: Map<string, BlobCell>): void {
  for (const cell of blobCellsIn(record)) into.set(cell[0], cell);
}

/** The packs whose contents a record brings in. */
export function packsIn(record: AgentRecord): readonly Pack[] {
  if (record.kind === "note") return record.packs ?? [];
  return record.kind === "rollback" ? (record.participants ?? []).flatMap(({ packs = [] }) => packs) : [];
}

/** Adds the blob that a value is in, and those that the results of a tool message are in. */
export function addBlobReference(slot: StoredValue, into: Map<string, BlobCell>): void {
  for (const cell of blobCellsOf(slot)) into.set(cell[0], cell);
}

/** The blobs that a record's values are in, those still to be put included. */
export function blobCellsIn(record: AgentRecord): readonly BlobCell[] {
  let found: readonly BlobCell[] = none;
  for (const slot of slotsOf(record)) {
    const cells = blobCellsOf(slot);
    if (cells.length > 0) found = found.length > 0 ? [...found, ...cells] : cells;
  }
  return found;
}

function blobCellsOf(slot: StoredValue): readonly BlobCell[] {
  if (typeof slot !== "object" || slot === null) return none;
  const key = envelopeKeyOf(slot);
  if (key === "$blob") {
    const cell = (slot as { readonly $blob: unknown }).$blob;
    return isBlobCell(cell) ? [cell] : none;
  }
  if (key !== "$outcomes") return none;
  return (slot as { readonly $outcomes: readonly StoredResult[] }).$outcomes.flatMap(({ output }) =>
    blobCellsOf(output),
  );
}

/** Adds all blobs that a record needs, packs included, with how many bytes are in each. */
export function addAllBlobs(record: AgentRecord, into: Map<string, number>): void {
  for (const [reference, bytes] of blobCellsIn(record)) into.set(reference, bytes);
  for (const { blob, contents } of packsIn(record))
    into.set(
      blob,
      contents.reduce((sum, [, bytes]) => sum + bytes, 0),
    );
}

/** The values in a record. */
function slotsOf(record: AgentRecord): readonly StoredValue[] {
  switch (record.kind) {
    case "message":
    case "answer":
      return [record.message];
    case "edit":
      return record.insert.map(({ message }) => message);
    case "storage":
    case "note":
      return [record.value];
    case "rollback":
      return (record.participants ?? []).map(({ steps }) => steps);
    case "settings":
      return [record.parameters];
    case "structure":
      return [record.structure];
    case "run":
    case "intent":
      return [record.input];
    case "outcome":
      return [record.input, record.output];
    case "checkpoint":
      return record.verification || record.branches ? slotsOfLargeCheckpoint(record) : [record.input, record.files];
    case "snapshot":
      return [
        ...slotsOf(record.checkpoint),
        ...slotsOf(record.run),
        ...record.history.map(({ message }) => message),
        ...Object.values(record.storage),
        record.settings?.parameters,
        record.structure?.structure,
      ];
    default:
      return slotsOfRequest(record);
  }
}

function slotsOfLargeCheckpoint({
  input,
  files,
  verification = [],
  branches = [],
}: CheckpointRecord): readonly StoredValue[] {
  return [input, files, ...verification, ...branches.flatMap((branch) => [branch.input, branch.output])];
}

function slotsOfRequest(record: AgentRecord): readonly StoredValue[] {
  if (record.kind === "request") return [record.prompt, record.schema];
  return record.kind === "reply" ? [record.answer] : [];
}

/** About how many bytes records and the blobs that they refer to are. @param own what the records alone are. */
export function valueBytes(records: readonly AgentRecord[], own = estimateBytes(records)): number {
  let sum = own;
  for (const record of records) for (const [, bytes] of blobCellsIn(record)) sum += bytes;
  return sum;
}
