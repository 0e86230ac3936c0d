import type { AgentRecord } from "./AgentRecord.ts";
import type { SnapshotRecord } from "./SnapshotRecord.ts";
import { type BlobCell, isBlobCell, type Pack } from "../values/BlobCell.ts";
import { estimateBytes } from "../values/estimateBytes.ts";
import { envelopeKeyOf, resultsIn, type StoredValue } from "../values/valueCodec.ts";

const none: readonly BlobCell[] = [];

/** Adds the blobs of a record's values to a map, by reference. Ignores text that only looks like a reference. */
export function addValueReferences(record: AgentRecord, into: Map<string, BlobCell>): void {
  for (const cell of blobCellsIn(record)) into.set(cell[0], cell);
}

export function packsIn(record: AgentRecord): readonly Pack[] {
  if (record.kind === "note") return record.packs ?? [];
  if (record.kind === "snapshot") return restated(record.since).flatMap(packsIn);
  return record.kind === "rollback" ? (record.participants ?? []).flatMap(({ packs = [] }) => packs) : [];
}

export function addBlobReference(slot: StoredValue, into: Map<string, BlobCell>): void {
  for (const cell of blobCellsOf(slot)) into.set(cell[0], cell);
}

export function blobCellsIn(record: AgentRecord): readonly BlobCell[] {
  let found: readonly BlobCell[] = none;
  for (const slot of slotsOf(record)) {
    const cells = blobCellsOf(slot);
    if (cells.length > 0) found = found.length > 0 ? [...found, ...cells] : cells;
  }
  return found;
}

export function blobCellsOf(slot: StoredValue): readonly BlobCell[] {
  if (typeof slot !== "object" || slot === null) return none;
  const key = envelopeKeyOf(slot);
  if (key === "$blob") {
    const cell = (slot as { readonly $blob: unknown }).$blob;
    return isBlobCell(cell) ? [cell] : none;
  }
  return key === "$outcomes" ? resultsIn(slot).flatMap(({ output }) => blobCellsOf(output)) : none;
}

/** Adds the length in bytes of each blob that a record needs, with its packs, to a map by reference. */
export function addAllBlobs(record: AgentRecord, into: Map<string, number>): void {
  for (const [reference, bytes] of blobCellsIn(record)) into.set(reference, bytes);
  for (const { blob, contents } of packsIn(record)) {
    const bytes = contents.reduce((sum, [, length]) => sum + length, 0);
    into.set(blob, bytes);
  }
}

/** Returns the approximate size of records with their blobs. @param own - the size of the records alone, in bytes. */
export function valueBytes(records: readonly AgentRecord[], own = estimateBytes(records)): number {
  let sum = own;
  for (const record of records) for (const [, bytes] of blobCellsIn(record)) sum += bytes;
  return sum;
}

function restated(since: SnapshotRecord["since"] = []): readonly AgentRecord[] {
  return since.flatMap(({ records }) => records as readonly AgentRecord[]);
}

function slotsOf(record: AgentRecord): readonly StoredValue[] {
  return slotsOfKind.get(record.kind)?.(record) ?? none;
}

const slotsByKind: {
  readonly [Kind in AgentRecord["kind"]]?: (record: Extract<AgentRecord, { kind: Kind }>) => readonly StoredValue[];
} = {
  message: ({ message }) => [message],
  answer: ({ message }) => [message],
  storage: ({ value }) => [value],
  note: ({ value }) => [value],
  run: ({ input }) => [input],
  ended: ({ output }) => [output],
  intent: ({ input }) => [input],
  outcome: ({ input, output, changes }) => [input, output, changes],
  checkpoint: ({ input, files, verification = [] }) => [input, files, ...verification],
  edit: ({ insert }) => insert.map(({ message }) => message),
  rollback: ({ participants = [] }) => participants.map(({ steps }) => steps),
  rollback_step: ({ outcome }) => [outcome],
  rollback_end: ({ report }) => [report],
  settings: ({ parameters }) => [parameters],
  structure: ({ structure }) => [structure],
  request: ({ prompt, schema, approval }) => [prompt, schema, approval?.input],
  reply: ({ answer }) => [answer],
  snapshot: ({ checkpoint, run, history, storage, settings, structure, since }) => [
    ...restated(since).flatMap(slotsOf),
    ...slotsOf(checkpoint),
    ...history.map(({ message }) => message),
    run.input,
    ...Object.values(storage),
    settings?.parameters,
    structure?.structure,
  ],
};

const slotsOfKind = new Map(Object.entries(slotsByKind)) as ReadonlyMap<
  string,
  (record: AgentRecord) => readonly StoredValue[]
>;
