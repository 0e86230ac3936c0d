import { validateRecord } from "../../../src/checkpoint/format/validateRecord.ts";
import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";
import type { LaneRecord, CheckpointRecord } from "../../../src/checkpoint/records/lineRecords.ts";
import { LogProjection } from "../../../src/checkpoint/state/LogProjection.ts";

/** A log whose every append holds the records of one argument. Records that no reader would take are refused. */
export function projectionOf(...appends: readonly (readonly AgentRecord[])[]): LogProjection {
  return extended(new LogProjection(), ...appends);
}

export function extended(index: LogProjection, ...appends: readonly (readonly AgentRecord[])[]): LogProjection {
  for (const records of appends) {
    const position = index.position + 1;
    const entry = { position, generation: 1, id: `1-${position}`, records, checksum: "", prev: "" };
    const defect = validateRecord(entry, index);
    if (defect !== undefined) throw new TypeError(defect);
    index.add(entry);
  }
  return index;
}

export function lane(number: number, fields: Partial<LaneRecord> = {}): LaneRecord {
  return { kind: "lane", lane: number, keep: "all", ...fields };
}

export function checkpoint(
  on: number,
  version: number,
  { node = `n${version}`, ...fields }: Partial<CheckpointRecord> = {},
): CheckpointRecord {
  return { kind: "checkpoint", lane: on, version, at: 0, node, input: `i${version}`, iteration: 0, ...fields };
}

/** A branch begins: its lane and its first checkpoint. */
export function branch(
  number: number,
  version: number,
  [parent, fork, key]: readonly [parent: number, fork: number, key: string],
  fields: Partial<LaneRecord> & { readonly node?: string } = {},
): readonly AgentRecord[] {
  const { node, ...more } = fields;
  return [
    lane(number, { place: { parent, fork, branch: key }, ...more }),
    checkpoint(number, version, { ...(node !== undefined && { node }) }),
  ];
}

/** A sub-agent begins: its lane and its first checkpoint. */
export function subAgent(
  number: number,
  version: number,
  [parent, call]: readonly [parent: number, call: string],
  fields: Partial<LaneRecord> = {},
): readonly AgentRecord[] {
  return [lane(number, { keep: "nothing", place: { parent, call }, ...fields }), checkpoint(number, version)];
}

export const run: AgentRecord = { kind: "run", run: "r", input: "in", at: 0 };
