import type { AgentRecord, PrunedRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { Entry } from "../../checkpoint/records/Entry.ts";

const valueFields: { readonly [Kind in AgentRecord["kind"]]?: readonly string[] } = {
  message: ["message"],
  answer: ["message"],
  storage: ["value"],
  note: ["value"],
  run: ["input"],
  ended: ["output"],
  intent: ["input"],
  outcome: ["input", "output", "changes"],
  checkpoint: ["input"],
  rollback_step: ["outcome"],
  settings: ["parameters"],
  request: ["prompt", "schema"],
  reply: ["answer"],
};

const leftOut: { readonly [Kind in AgentRecord["kind"]]?: readonly string[] } = {
  checkpoint: ["verification", "files"],
  structure: ["structure", "renames"],
  rollback_end: ["report"],
};

/** Returns an append without snapshots, and with a {@link StoredAt} in place of each value. */
export function leanEntry({ position, generation, checksum, records }: Entry): Entry {
  const lean = (records as readonly AgentRecord[]).flatMap((record, at) =>
    record.kind === "snapshot" ? [] : [leanRecord(record, position, at)],
  );
  return { position, generation, id: "", checksum, prev: "", records: lean };
}

function leanRecord(record: AgentRecord, position: number, at: number): AgentRecord {
  if (record.kind === "pruned") return leanPruned(record);
  const lean: Record<string, unknown> = { ...record };
  for (const field of leftOut[record.kind] ?? []) delete lean[field];
  for (const field of valueFields[record.kind] ?? [])
    if (field in lean) lean[field] = new StoredAt(position, at, field);
  Object.assign(lean, leanParts(record, position, at));
  return lean as unknown as AgentRecord;
}

function leanParts(record: AgentRecord, position: number, at: number): object {
  switch (record.kind) {
    case "edit":
      return {
        insert: record.insert.map(({ number }, item) => ({
          number,
          message: new StoredAt(position, at, "insert", item),
        })),
      };
    case "request":
      return record.approval ? { approval: { ...record.approval, input: new StoredAt(position, at, "approval") } } : {};
    case "rollback":
      return record.participants
        ? { participants: record.participants.map((planned) => ({ ...planned, steps: null })) }
        : {};
    default:
      return {};
  }
}

function leanPruned(record: PrunedRecord): PrunedRecord {
  const restated = record.restated.map((kept) => {
    const { records } = leanEntry({ ...kept, id: "", prev: "" });
    return { ...kept, records: records as readonly AgentRecord[] };
  });
  return { ...record, gaps: [], blobs: [], restated };
}

/** Returns the value to which a {@link StoredAt} refers. `undefined` if the value is missing. */
export function valueIn(entry: Pick<Entry, "records">, { record, field, item }: StoredAt): unknown {
  const content = (entry.records[record] as unknown as Readonly<Record<string, unknown>> | undefined)?.[field];
  if (field === "insert")
    return (content as readonly { readonly message: unknown }[] | undefined)?.[item ?? 0]?.message;
  return field === "approval" ? (content as { readonly input?: unknown } | undefined)?.input : content;
}

/** A reference to a value in the log. The value is read when it is shown. */
export class StoredAt {
  order = -1;
  /** The lane of the record, or -1 without a lane. References in the value belong to this lane. */
  lane = -1;

  constructor(
    readonly position: number,
    readonly record: number,
    readonly field: string,
    /** The index of the value if the field is a list. `undefined` if the whole field is the value. */
    readonly item?: number,
  ) {}
}
