import { fileNoteKey, fileChangesIn, isSameFile, type FileChange } from "../../checkpoint/data/FileChange.ts";
import type { AgentRecord } from "../../checkpoint/records/AgentRecord.ts";
import type { NoteRecord } from "../../checkpoint/records/NoteRecord.ts";
import type { OrderedRecord } from "../../checkpoint/state/LogProjection.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { FileChangeView, NotedFileChange } from "../view/FileChangeView.ts";
import type { ShownValue } from "../view/ShownValue.ts";
import type { ChangesView } from "../view/StepView.ts";
import { isoTime } from "./checkpointView.ts";
import type { Shown } from "./Source.ts";

type OfKind<Kind extends AgentRecord["kind"]> = Extract<AgentRecord, { kind: Kind }>;

export function changesView({ show }: Shown, records: readonly OrderedRecord[]): ChangesView {
  const of = <Kind extends AgentRecord["kind"]>(kind: Kind): readonly OfKind<Kind>[] =>
    records.flatMap(({ record }) => (record.kind === kind ? [record as OfKind<Kind>] : []));
  const messages = records.flatMap(({ record }) => addedIn(record));
  const settings = of("settings").at(-1);
  return {
    messages: {
      added: messages.map(({ message, ...place }) => ({ ...place, message: show(message) })),
      removed: of("edit").flatMap(({ remove }) => remove),
    },
    storage: storageChanges(of("storage"), show),
    ...(settings && {
      settings: withoutUndefined({
        model: settings.model,
        parameters: "parameters" in settings ? show(settings.parameters) : undefined,
        tools: settings.tools,
      }),
    }),
    decisions: of("decision").map(({ decision, reason, at }) =>
      withoutUndefined({ decision, reason, at: isoTime(at) }),
    ),
  };
}

interface AddedMessage {
  readonly number: number;
  readonly message: unknown;
  readonly before?: number;
}

function addedIn(record: AgentRecord): readonly AddedMessage[] {
  if (record.kind === "message") return [{ number: record.number, message: record.message }];
  if (record.kind !== "edit") return [];
  const { before } = record;
  return record.insert.map((inserted) => ({ ...inserted, ...(before !== undefined && { before }) }));
}

function storageChanges(records: readonly OfKind<"storage">[], show: Shown["show"]): ChangesView["storage"] {
  const last = new Map(records.map((record) => [record.key, record]));
  const set = [...last.values()].filter((record) => "value" in record);
  const deleted = [...last.values()].filter((record) => !("value" in record));
  return {
    set: Object.fromEntries(set.map(({ key, value }): [string, ShownValue] => [key, show(value)])),
    deleted: deleted.map(({ key }) => key),
  };
}

export interface PlacedNote {
  readonly record: NoteRecord;
  readonly order: number;
  readonly position: number;
}

export function fileNotesIn(records: readonly OrderedRecord[]): readonly PlacedNote[] {
  return records.flatMap(({ record, order, position }) =>
    record.kind === "note" && record.key === fileNoteKey ? [{ record, order, position }] : [],
  );
}

/** Returns the file changes in notes. Ignores unreadable notes. */
export function notedChanges(shown: Shown, notes: readonly PlacedNote[]): readonly NotedFileChange[] {
  const { log } = shown.index;
  const reverted = new Set([...log.revertedNotes].map(({ order }) => order));
  return notes.flatMap(({ record, order, position }) =>
    changesIn(shown, record).map((change) =>
      withoutUndefined({
        ...fileChangeView(change),
        toolCallId: record.call,
        position,
        lane: record.lane,
        isReverted: reverted.has(order),
      }),
    ),
  );
}

export function changesIn(shown: Shown, { value }: NoteRecord): readonly FileChange[] {
  shown.show(value);
  try {
    return fileChangesIn(shown.values.decoded(value)).filter(({ before, after }) => !isSameFile(before, after));
  } catch {
    return [];
  }
}

export function fileChangeView({ path, before, after }: FileChange): FileChangeView {
  const change = before === undefined ? "created" : after === undefined ? "deleted" : "modified";
  return withoutUndefined({ path, change, before, after }) as FileChangeView;
}
