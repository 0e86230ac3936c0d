import {
  count,
  type FieldList,
  type FieldTest,
  type FieldTests,
  firstInvalid,
  fraction,
  like,
  listOf,
  mapOf,
  object,
  oneOf,
  optional,
  pair,
  sized,
  text,
  time,
  whole,
} from "./fieldTests.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { parallelStartOf, type LaneRecord, type CheckpointRecord } from "../records/lineRecords.ts";
import type { EndedRecord } from "../records/runRecords.ts";
import type { Entry, LogRecord } from "../records/Entry.ts";
import type { SnapshotRecord } from "../records/SnapshotRecord.ts";

const givenName: FieldTest = (value) =>
  text(value) && (value as string).length > 0 && (value as string).length <= 256 && !/^\d+-\d+$/.test(value as string);
const isTrue: FieldTest = (value) => value === true;
const branchPlace = like({ parent: count, fork: count, branch: text });
const callPlace = like({ parent: count, call: text });
const place: FieldTest = (value) => branchPlace(value) || callPlace(value);

const lane = { lane: count };
const usage = optional(object);
const run = { run: text, at: time, digest: optional(text), trace: optional(text) };
const settings = { model: text, tools: listOf(text) };
const requirements = {
  files: listOf(text),
  environment: mapOf(text),
  directory: optional(text),
  // `hashes` is a text if file paths are redacted.
  hashes: optional((value) => text(value) || mapOf((hash) => hash === null || text(hash))(value)),
};
const decision = { at: time, node: text, decision: text, reason: optional(text) };
const structure = {
  fingerprint: text,
  code: optional(text),
  version: optional(count),
  renames: optional(listOf(like({ nodes: mapOf(text), tools: mapOf(text) }))),
};
const renames = optional(listOf(mapOf(text)));
const checkpoint = {
  lane: count,
  version: count,
  id: optional(text),
  at: time,
  node: text,
  visit: optional(pair),
  iteration: count,
  usage,
  progress: optional(fraction),
  summary: optional(text),
  status: optional(oneOf("completed", "cancelled")),
  digest: optional(text),
  by: optional(text),
  standing: optional(listOf(text)),
  ended: optional(isTrue),
  joined: optional(count),
};
const call = { visit: pair, call: text };
const failedRequest = like({
  asked: text,
  after: optional(text),
  error: like({ name: text, message: text, code: optional(text) }),
});
const error = optional(like({ message: text }));
const thrown = optional(like({ message: text, name: optional(text) }));
const packs = optional(listOf(like({ blob: text, contents: listOf(sized) })));
const numbered = listOf(like({ number: count }));
const restated = like({ position: count, generation: count, checksum: text, records: listOf(like({ kind: text })) });

const life = {
  task: optional(like({ name: text })),
  startedAt: optional(time),
  since: optional(time),
  retries: optional(count),
  failedCalls: optional(listOf(text)),
  requests: optional(listOf(text)),
};

function validRecord(value: unknown): boolean {
  return like({ kind: text })(value) && invalidField(value as LogRecord) === undefined;
}

/** By kind of record: the fields that `LogProjection` and `foldTo` rely on. Other values are checked when read. */
const shapes = {
  task: { name: text, priority: optional(whole) },
  run,
  lane: { from: optional(count), keep: oneOf("all", "history", "state", "nothing"), place: optional(place), ...lane },
  message: { number: count, ...lane },
  edit: { remove: listOf(pair), insert: numbered, before: optional(count), ...lane },
  storage: { key: text, ...lane },
  settings: { ...settings, ...lane },
  requirements: { ...requirements, ...lane },
  decision: { ...decision, ...lane },
  structure: { ...structure, ...lane },
  answer: {
    visit: pair,
    ordinal: count,
    node: text,
    usage,
    finish: optional(text),
    failed: optional(listOf(failedRequest)),
    renames,
    ...lane,
  },
  intent: { ...call, tool: text, effect: text, node: text, ...lane },
  outcome: {
    ...call,
    error: thrown,
    failedCalls: optional(listOf(text)),
    renames,
    ...lane,
  },
  note: { key: text, call: optional(text), packs, ...lane },
  checkpoint,
  name: { name: givenName, version: optional(count) },
  request: {
    lane: count,
    visit: pair,
    request: text,
    node: text,
    id: optional(text),
    ordinal: optional(count),
    within: optional(text),
    around: optional(listOf(text)),
    expiresAt: optional(time),
    at: optional(time),
    question: optional(text),
    event: optional(text),
    receipts: optional(count),
    approval: optional(like({ call: text, tool: text })),
  },
  reply: {
    lane: count,
    request: text,
    at: time,
    rejected: optional(text),
    refused: optional(isTrue),
    by: optional(text),
  },
  status: {
    run: text,
    status: oneOf("queued", "in_progress", "failed", "paused", "waiting"),
    at: time,
    until: optional(time),
    error: optional(like({ name: text, message: text })),
    requests: optional(listOf(text)),
    attempt: optional(count),
    failedCalls: optional(listOf(text)),
    usage,
  },
  ended: { run: text, version: count, status: oneOf("completed", "cancelled"), usage, digest: optional(text), ...lane },
  rollback: {
    target: count,
    base: optional(count),
    calls: listOf(text),
    closed: listOf(text),
    onFailure: optional(oneOf("leave")),
    participants: optional(listOf(like({ key: text, packs }))),
  },
  rollback_step: { key: text, step: count, error },
  inverse: { call: text },
  reverted: { call: text, error },
  rollback_end: { target: count, base: optional(count) },
  origin: {
    agentId: text,
    version: count,
    position: count,
    checksum: text,
    nextLane: count,
    asksAgain: optional(isTrue),
  },
  custody: {
    state: oneOf("here", "moving", "moved", "copied"),
    at: time,
    move: optional(text),
    to: optional(like({ agentId: text, folder: optional(text) })),
    asksAgain: optional(isTrue),
  },
  pruned: { upTo: count, restated: listOf(restated), nextNumber: count, blobs: listOf(text) },
  snapshot: {
    checkpoint: like(checkpoint),
    checkpointId: text,
    parent: optional(count),
    parentId: optional(text),
    first: optional(isTrue),
    run: like(run),
    createdAt: time,
    life: optional(like(life)),
    nextNumber: count,
    nextLane: count,
    history: numbered,
    storage: object,
    settings: optional(like(settings)),
    requirements: optional(like(requirements)),
    structure: optional(like(structure)),
    structures: listOf(text),
    decisions: listOf(like(decision)),
    runs: mapOf(pair),
    cancelled: listOf(text),
    named: mapOf(pair),
    earlier: optional(
      listOf(like({ lane: count, lanes: listOf(like({ lane: count, runId: text, owner: optional(text) })) })),
    ),
    names: optional((value) => mapOf(count)(value) && Object.keys(value as object).every(givenName)),
    pruned: optional(pair),
    repeats: optional(isTrue),
    since: optional(listOf(like({ position: count, generation: count, records: listOf(validRecord) }))),
    nextVersion: optional(count),
    asksAgain: optional(isTrue),
    usage,
  },
} satisfies Record<AgentRecord["kind"], FieldTests>;

const fieldsOf: ReadonlyMap<string, FieldList> = new Map(
  Object.entries(shapes).map(([kind, shape]) => [kind, Object.entries<FieldTest>(shape)]),
);

export function recordKinds(): readonly string[] {
  return Object.keys(shapes);
}

/** The lowest version of a checkpoint and the lowest lane that the next entry may use. */
export interface NextNumbers {
  readonly nextVersion: number;
  readonly nextLane: number;
}

/**
 * Validates the records of an entry, because its checksum does not prove who wrote it.
 *
 * @param next - the lowest valid numbers. Omitted if earlier entries were not read. A lane must refer only to earlier
 * checkpoints and lanes. The version of a pruned checkpoint is never used again.
 * @returns a description of the first defect, or `undefined`.
 */
export function validateRecord({ records, position }: Entry, next?: NextNumbers): string | undefined {
  let numbers = next;
  for (const record of records) {
    const field = invalidField(record) ?? (numbers === undefined ? undefined : unorderedField(record, numbers));
    if (field !== undefined) return `append ${position}: record "${record.kind}" has an invalid "${field}"`;
    numbers &&= numbersAfter(numbers, record as AgentRecord);
  }
  return undefined;
}

export function numbersAfter({ nextVersion, nextLane }: NextNumbers, record: AgentRecord): NextNumbers {
  return {
    nextVersion: Math.max(nextVersion, versionIn(record) + 1),
    nextLane: "lane" in record ? Math.max(nextLane, record.lane + 1) : nextLane,
  };
}

export function unknownKind({ records }: Pick<Entry, "records">): string | undefined {
  const isUnknown = ({ kind }: LogRecord) => !fieldsOf.has(kind);
  return (records.find(isUnknown) ?? records.flatMap(restatedBy).find(isUnknown))?.kind;
}

const sinceOfSnapshot = listOf(like({ records: listOf(like({ kind: text })) }));

const nothing: readonly LogRecord[] = [];

function restatedBy(record: LogRecord): readonly LogRecord[] {
  const { since } = record as Partial<SnapshotRecord>;
  if (record.kind !== "snapshot" || !sinceOfSnapshot(since)) return nothing;
  return (since ?? []).flatMap(({ records }) => records);
}

export function invalidField(record: LogRecord): string | undefined {
  const fields = fieldsOf.get(record.kind);
  if (fields === undefined) return "kind";
  const field = firstInvalid(record, fields);
  const { ended, status } = record as CheckpointRecord;
  return field ?? (record.kind === "checkpoint" && ended && status !== undefined ? "ended" : undefined);
}

/** @throws InvalidInputError for records that a reader would reject. JavaScript and models can pass wrong types. */
export function assertReadable(records: readonly AgentRecord[]): void {
  for (const record of records) {
    const path = invalidField(record);
    if (path === undefined) continue;
    const found = typeof (record as unknown as Readonly<Record<string, unknown>>)[path];
    throw new InvalidInputError(`${record.kind} to record`, [{ path, expected: `found invalid ${found}` }]);
  }
}

function unorderedField(record: LogRecord, next: NextNumbers): string | undefined {
  if (hasVersion(record) && record.version < next.nextVersion) return "version";
  if (record.kind === "checkpoint") {
    const { joined = -1, version } = record as CheckpointRecord;
    return joined >= version ? "joined" : undefined;
  }
  return record.kind === "lane" ? unorderedLaneField(record as LaneRecord, next) : undefined;
}

function unorderedLaneField(
  { lane, from = -1, place }: LaneRecord,
  { nextVersion, nextLane }: NextNumbers,
): string | undefined {
  if (lane < nextLane) return "lane";
  if (from >= nextVersion) return "from";
  return place && place.parent >= lane ? "place" : undefined;
}

function versionIn(record: LogRecord): number {
  if (hasVersion(record)) return record.version;
  return record.kind === "lane" ? (parallelStartOf(record as LaneRecord) ?? 0) : 0;
}

function hasVersion(record: LogRecord): record is CheckpointRecord | EndedRecord {
  return record.kind === "checkpoint" || record.kind === "ended";
}
