import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import type { CheckpointRecord } from "../checkpoint/records/CheckpointRecord.ts";
import type { LogRecord } from "../checkpoint/records/Entry.ts";
import { envelopeKeyOf, resultsIn, type StoredValue } from "../checkpoint/values/valueCodec.ts";

type Fields = Readonly<Record<string, unknown>>;
type Lean<Kind extends AgentRecord["kind"]> = (record: Extract<AgentRecord, { kind: Kind }>) => Fields;

/** A value in the form that any value can have. */
const noValue: StoredValue = Object.freeze({ $plain: null });

/** The fields of records without their values. The summary of an agent needs the values of the other records. */
const leanFields: { readonly [Kind in AgentRecord["kind"]]?: Lean<Kind> } = {
  message: (record) => without(record, ["message"]),
  answer: (record) => without(record, ["message"]),
  storage: (record) => without(record, ["value"]),
  note: (record) => without(record, ["value"]),
  intent: (record) => without(record, ["input"]),
  outcome: (record) => without(record, ["input", "output"]),
  checkpoint: (record) => (record.status === undefined ? leanCheckpoint(record) : {}),
  edit: ({ insert }) => ({ insert: insert.map((inserted) => ({ ...inserted, ...without(inserted, ["message"]) })) }),
  rollback: ({ participants }) =>
    participants ? { participants: participants.map((planned) => ({ ...planned, steps: noValue })) } : {},
  rollback_step: (record) => without(record, ["outcome"]),
  rollback_end: (record) => without(record, ["report"]),
  settings: (record) => without(record, ["parameters"]),
  structure: (record) => without(record, ["structure"]),
  request: (record) => ({
    ...without(record, ["prompt", "schema"]),
    ...(record.approval && { approval: { ...record.approval, ...without(record.approval, ["input"]) } }),
  }),
  reply: (record) => without(record, ["answer"]),
  snapshot: ({ checkpoint, history, storage, settings, structure, since }) => ({
    checkpoint: withoutValues(checkpoint),
    history: history.map((entry) => ({ ...entry, ...without(entry, ["message"]) })),
    storage: Object.fromEntries(Object.entries(storage).map(([key, value]) => [key, leanValue(value)])),
    ...(settings && { settings: withoutValues(settings) }),
    ...(structure && { structure: withoutValues(structure) }),
    ...(since && { since: since.map((each) => ({ ...each, records: each.records.map(withoutValues) })) }),
  }),
  pruned: ({ restated }) => ({
    restated: restated.map((each) => ({ ...each, records: each.records.map(withoutValues) })),
  }),
};

const leanOfKind: ReadonlyMap<string, unknown> = new Map(Object.entries(leanFields));

/** Returns a record without its values, but with the blobs and records that the values refer to. */
export function withoutValues<Given extends LogRecord>(record: Given): Given {
  const lean = leanOfKind.get(record.kind) as ((given: LogRecord) => Fields) | undefined;
  return lean ? { ...record, ...lean(record) } : record;
}

function leanCheckpoint(record: CheckpointRecord): Fields {
  const { verification } = record;
  return {
    ...without(record, ["input", "files"]),
    ...(verification && { verification: verification.map(leanValue) }),
  };
}

function without(record: object, fields: readonly string[]): Fields {
  const lean: Record<string, unknown> = {};
  for (const field of fields) if (field in record) lean[field] = leanValue(Reflect.get(record, field));
  return lean;
}

function leanValue(value: StoredValue): StoredValue {
  const key = envelopeKeyOf(value);
  if (key === "$blob" || key === "$message" || key === "$answer") return value;
  if (key !== "$outcomes") return value === undefined ? undefined : noValue;
  return {
    $outcomes: resultsIn(value).map(({ part, ...result }) => ({
      part: { toolCallId: part["toolCallId"] },
      ...("output" in result && { output: leanValue(result.output) }),
    })),
  };
}
