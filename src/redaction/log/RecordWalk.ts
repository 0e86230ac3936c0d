import { isBlobCell } from "../../checkpoint/values/BlobCell.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { toolOf, type ValuePlace } from "../../internal/redactedPath.ts";
import { parseBlobReference } from "../../storage/blobs.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";
import { placeAt, placeOfField, root, ValueWalk, type WalkOptions } from "../values/ValueWalk.ts";
import type { CallTools } from "./CallTools.ts";
import { HiddenValue } from "./HiddenValue.ts";

/** Fields of records with ids, names and digests, which readers and storages need. They contain no values. */
const structuralFields: ReadonlySet<string> = new Set(
  (
    "kind lane visit run key call tool effect node within request around id version from keep place move trigger status " +
    "inputType digest asked question ordinal usage gaps blobs packs structure structures runs cancelled named names " +
    "checkpointId parentId requests failedCalls standing waitingFor checksum"
  ).split(" "),
);

/** Fields with records of a snapshot. */
const restatedRecords: ReadonlySet<string> = new Set(["snapshot.checkpoint", "snapshot.run"]);
/** Fields with the appends that a snapshot or a pruning restates. */
const restatedEntries: ReadonlySet<string> = new Set(["snapshot.since", "pruned.restated"]);

interface RestatedEntry {
  readonly records: readonly LogRecord[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Walks the records and summaries of a log. */
export class RecordWalk extends ValueWalk {
  readonly #tools: CallTools;

  /** @param hides - returns whether a text is hidden although it contains no secret. */
  constructor(options: Omit<WalkOptions, "keeps">, tools: CallTools, hides?: (text: string) => boolean) {
    super({ ...options, hides, keeps: (text) => parseBlobReference(text) !== undefined });
    this.#tools = tools;
  }

  records(records: readonly LogRecord[]): readonly LogRecord[] {
    return records.map((record) => this.#record(record as unknown as Fields) as unknown as LogRecord);
  }

  summary(summary: AgentSummary): AgentSummary {
    const { data, inputRequest } = summary;
    return {
      ...summary,
      data: this.value(data, root),
      ...(inputRequest !== undefined && { inputRequest: this.value(inputRequest, placeAt("input")) }),
    };
  }

  override value(value: unknown, place: ValuePlace): unknown {
    return value instanceof HiddenValue ? value : super.value(value, place);
  }

  /** Keeps the blobs within a redacted value readable, because the storage finds and deletes blobs by their names. */
  protected override whole(value: unknown): unknown {
    if (typeof value === "string" && parseBlobReference(value)) return value;
    if (typeof value !== "object" || value === null || !JSON.stringify(value).includes("blob://"))
      return super.whole(value);
    if (Array.isArray(value)) return value.map((item) => this.whole(item));
    if (isStoredBlob((value as { readonly $blob?: unknown }).$blob)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.whole(item)]));
  }

  protected override object(value: object, place: ValuePlace): unknown {
    this.#tools.note(value);
    const fields = Object.entries(value);
    const [only, content] = fields.length === 1 ? (fields[0] as readonly [string, unknown]) : ["", undefined];
    if (only === "$blob" && isStoredBlob(content)) return value;
    if (only === "$plain") return { $plain: this.value(content, place) };
    if (only === "$rich") return this.#rich(value, content, place);
    if (only === "$outcomes" && Array.isArray(content))
      return { $outcomes: content.map((result: unknown) => this.#result(result, place)) };
    return super.object(value, place);
  }

  /** A rich value has type annotations for its fields, so it is replaced as a whole. */
  #rich(value: object, content: unknown, place: ValuePlace): unknown {
    const { json } = Object(content) as { readonly json?: unknown };
    const plain = withoutEscapes(json);
    return super.value(plain, place) === plain ? value : this.options.replaceText(value, "");
  }

  /** The result of a tool call in a message has its output beside the part. */
  #result(result: unknown, place: ValuePlace): unknown {
    const { part, output, ...others } = Object(result) as Fields;
    const tool = toolOf(Object(part) as object) ?? "";
    return {
      ...others,
      part: this.value(part, place),
      ...(output !== undefined && { output: this.value(output, placeAt(tool, "output")) }),
    };
  }

  #record(record: Fields): Fields {
    this.#tools.note(record);
    const tool = toolOf(record) ?? this.#tools.of(record["call"]);
    const isUnknownCall = record["kind"] === "outcome" && tool === undefined;
    const fields = Object.entries(record).map(([key, item]): readonly [string, unknown] => {
      if (typeof item === "number" || typeof item === "boolean") return [key, item];
      if (isUnknownCall && key === "output") return [key, this.whole(item)];
      return [key, this.#field(record, key, item, tool)];
    });
    return Object.fromEntries(fields);
  }

  #field(record: Fields, key: string, item: unknown, tool: string | undefined): unknown {
    const field = `${String(record["kind"])}.${key}`;
    if (restatedRecords.has(field)) return this.#record(item as Fields);
    if (restatedEntries.has(field))
      return (item as readonly RestatedEntry[]).map((entry) => ({ ...entry, records: this.records(entry.records) }));
    if (structuralFields.has(key)) return item;
    if (field === "storage.value") return this.value(item, placeAt("storage", String(record["key"])));
    const value = this.value(item, placeOfField(root, key, tool));
    // The input of a checkpoint is the output of the node before it.
    return field === "checkpoint.input" ? this.value(value, placeAt("output")) : value;
  }
}

function isStoredBlob(value: unknown): boolean {
  return (
    isBlobCell(value) && parseBlobReference(value[0]) !== undefined && /^[0-9a-f]{64}$/.test(value[2] ?? "0".repeat(64))
  );
}

/** Returns the JSON of a rich value with the names of its fields. The values are not decoded. */
function withoutEscapes(json: unknown): unknown {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return json.map(withoutEscapes);
  const { name, fields, ...others } = json as Fields;
  // The fields of plain objects start with a colon, those of an instance do not.
  if (typeof name === "string" && fields !== undefined && Object.keys(others).length === 0)
    return withoutEscapes(fields);
  return Object.fromEntries(
    Object.entries(json).map(([key, item]) => [key.startsWith(":") ? key.slice(1) : key, withoutEscapes(item)]),
  );
}
