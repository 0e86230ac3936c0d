import { setNewest } from "../../internal/deleteOldest.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { toolOf } from "../../internal/options/redactedPath.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";
import { foreignCall } from "../values/callShape.ts";
import {
  errorFields,
  type LibraryFields,
  chatMessageFields,
  recordPartFields,
  taskFields,
} from "../values/libraryFields.ts";
import { StoredValueWalk } from "../values/StoredValueWalk.ts";
import { type Places, placesAt, placesOfField, root, type WalkOptions } from "../values/ValueWalk.ts";
import { isOfAgent, restatesLog, secretsIn } from "./vaultMark.ts";

/** Fields with ids, names and digests, which readers and storages need. They contain no values of users. */
const structuralFields: ReadonlySet<string> = new Set(
  (
    "kind lane visit run key call tool effect node within request around id version from keep place move trigger status " +
    "inputType digest asked question ordinal usage gaps blobs packs structure structures runs cancelled named names " +
    "checkpointId parentId requests failedCalls standing waitingFor checksum agentId fingerprint code renames earlier"
  ).split(" "),
);

/** Fields with values of users, in which numbers and booleans are redacted. Elsewhere, these belong to the record. */
const valueFields: ReadonlySet<string> = new Set("input output answer value payload outcome".split(" "));

/** Fields of a snapshot that contain a record. */
const restatedRecords: ReadonlySet<string> = new Set(["snapshot.checkpoint", "snapshot.run"]);
/** Fields of a snapshot or a pruning that contain earlier appends. */
const restatedEntries: ReadonlySet<string> = new Set(["snapshot.since", "pruned.restated"]);

/** Fields with objects of the library, such as messages. */
const structures: ReadonlyMap<string, LibraryFields> = new Map([
  ["message.message", chatMessageFields],
  ["answer.message", chatMessageFields],
  ["answer.failed", recordPartFields],
  ["edit.insert", recordPartFields],
  ["outcome.error", errorFields],
  ["outcome.lost", recordPartFields],
  ["status.error", errorFields],
  ["request.approval", recordPartFields],
  ["request.problems", recordPartFields],
  ["rollback.participants", recordPartFields],
  ["rollback_step.error", errorFields],
  ["reverted.error", errorFields],
  ["task.reserves", taskFields],
  ["task.controls", taskFields],
  ["custody.to", recordPartFields],
  ["snapshot.history", recordPartFields],
  ["snapshot.life", recordPartFields],
  ["snapshot.settings", recordPartFields],
  ["snapshot.requirements", recordPartFields],
  ["snapshot.decisions", recordPartFields],
]);

/** Fields of graph records that contain the end of a tool call. */
const endedCalls: ReadonlySet<string> = new Set(["call.end", "call_end.end"]);

interface RestatedEntry {
  readonly records: readonly LogRecord[];
}

type Fields = Readonly<Record<string, unknown>>;

export class RecordWalk extends StoredValueWalk {
  readonly #tools: CallTools;
  readonly #keepsToken: (text: string) => boolean;

  constructor(options: WalkOptions, tools: CallTools) {
    super(options);
    this.#keepsToken = options.keeps ?? (() => false);
    this.#tools = tools;
  }

  records(records: readonly LogRecord[]): readonly LogRecord[] {
    return records.map((record) => this.#record(record as unknown as Fields) as unknown as LogRecord);
  }

  summary(summary: AgentSummary): AgentSummary {
    const { data, inputRequest } = summary;
    return {
      ...summary,
      data: this.structure(data, root, recordPartFields),
      ...(inputRequest !== undefined && { inputRequest: this.value(inputRequest, placesAt("input")) }),
    };
  }

  override value(value: unknown, places: Places): unknown {
    return value instanceof HiddenValue ? value : super.value(value, places);
  }

  override structure(value: unknown, places: Places, fields: LibraryFields): unknown {
    this.#tools.note(Object(value) as object);
    return super.structure(value, places, fields);
  }

  /** Redacts the end of a call. The whole output is redacted if its tool is unknown. */
  #endOfCall(end: Fields, tool: string | undefined): unknown {
    const fields = Object.entries(end).map(([key, item]): readonly [string, unknown] => {
      if (tool === undefined && key === "output") return [key, this.whole(item)];
      return [key, this.value(item, placesOfField(root, key, tool))];
    });
    return Object.fromEntries(fields);
  }

  /** Keeps the tokens in a value that was copied from another log. */
  protected override whole(value: unknown): unknown {
    if (!hasText(value, this.#keepsToken)) return super.whole(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.whole(item));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.whole(item)]));
  }

  protected override object(value: object, places: Places): unknown {
    this.#tools.note(value);
    return super.object(value, places);
  }

  protected override toolOfCall(callId: unknown): string | undefined {
    return this.#tools.of(callId);
  }

  #record(record: Fields): Fields {
    this.#tools.note(record);
    this.options.secrets.add(secretsIn(record).toReversed());
    const tool = toolOf(record) ?? this.#tools.of(record["call"]);
    const isUnknownCall = record["kind"] === "outcome" && tool === undefined;
    const fields = Object.entries(record).map(([key, item]): readonly [string, unknown] => {
      if ((typeof item === "number" || typeof item === "boolean") && !valueFields.has(key)) return [key, item];
      if (isUnknownCall && key === "output") return [key, this.whole(item)];
      return [key, this.#field(record, key, item, tool)];
    });
    if (restatesLog(record))
      return Object.fromEntries([...fields.filter(([key]) => key !== "secrets"), ...this.#secrets(record)]);
    const isMarked = record["kind"] === "run" || isHiddenEvent(record, fields);
    return Object.fromEntries(isMarked ? [...fields.filter(([key]) => key !== "vault"), this.#mark()] : fields);
  }

  /** Returns the secrets of earlier records, for readers that start at this record. */
  #secrets({ secrets }: Fields): readonly (readonly [string, unknown])[] {
    const known = this.options.secrets.newest;
    if (known.length > 0) return [["secrets", this.options.replaceText(known, "")]];
    return typeof secrets === "string" ? [["secrets", secrets]] : [];
  }

  /** Marks the first record with a token. Readers without the vault then refuse to run the agent. */
  marked(records: readonly LogRecord[]): readonly LogRecord[] {
    const first = records.findIndex(isOfAgent);
    return records.map((record, at) => (at === first ? { ...record, ...Object.fromEntries([this.#mark()]) } : record));
  }

  #mark(): readonly [string, unknown] {
    return ["vault", this.options.replaceText("", "")];
  }

  #field(record: Fields, key: string, item: unknown, tool: string | undefined): unknown {
    const field = `${String(record["kind"])}.${key}`;
    if (restatedRecords.has(field)) return this.#record(item as Fields);
    if (restatedEntries.has(field))
      return (item as readonly RestatedEntry[]).map((entry) => ({ ...entry, records: this.records(entry.records) }));
    if (structuralFields.has(key) || field === "name.name") return item;
    const structure = structures.get(field);
    if (structure) return this.structure(item, placesOfField(root, key, tool), structure);
    if (field === "requirements.environment" || field === "snapshot.storage")
      return this.namedValues(item, placesOfField(root, key));
    if (endedCalls.has(field)) return this.#endOfCall(item as Fields, tool);
    if (field === "storage.value") return this.value(item, placesAt("storage", String(record["key"])));
    // The input of a checkpoint is the output of the previous node.
    const others = field === "checkpoint.input" ? placesAt("output") : [];
    return this.value(item, [...placesOfField(root, key, tool), ...others]);
  }
}

/** Whether a record is an event with hidden values. The log of events has no mark of its agent. */
function isHiddenEvent(record: Fields, fields: readonly (readonly [string, unknown])[]): boolean {
  return record["kind"] === "event" && fields.some(([key, item]) => item !== record[key]);
}

function hasText(value: unknown, isSearched: (text: string) => boolean): boolean {
  if (typeof value === "string") return isSearched(value);
  return typeof value === "object" && value !== null && Object.values(value).some((item) => hasText(item, isSearched));
}

/** A redacted value of an append. It is replaced by a token before the append is stored. */
export class HiddenValue {
  /** The value as JSON. A copy, because the caller may change the value. */
  readonly json: string;
  readonly shown: string;
  token: string | undefined;

  constructor(value: unknown, shown: string) {
    this.json = JSON.stringify(value);
    this.shown = shown;
  }

  /** Returns the value if it has no token, because it is then a part of a larger hidden value. */
  toJSON(): unknown {
    return this.token ?? (JSON.parse(this.json) as unknown);
  }
}

/** The maximum number of known calls in a log. For other calls, the whole output is redacted. */
const mostCalls = 50_000;

/** The tool of each call in a log, because an outcome record contains only the id of the call. */
export class CallTools {
  readonly #tools = new Map<string, string | undefined>();

  /** Stores the tool of a call. A call with two tools has none, because a user's value can look like a call. */
  note(value: object): void {
    const { call, tool, toolCallId, toolName } = value as Readonly<Record<string, unknown>>;
    const [foreignId, foreignTool] = foreignCall(value);
    const [id, name] = [call ?? toolCallId ?? foreignId, tool ?? toolName ?? foreignTool];
    if (typeof id !== "string" || typeof name !== "string") return;
    const isOther = this.#tools.has(id) && this.#tools.get(id) !== name;
    setNewest(this.#tools, id, isOther ? undefined : name, mostCalls);
  }

  of(call: unknown): string | undefined {
    return typeof call === "string" ? this.#tools.get(call) : undefined;
  }
}
