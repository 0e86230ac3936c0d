import { isBlobCell } from "../../checkpoint/values/BlobCell.ts";
import type { StoredResult } from "../../checkpoint/values/valueCodec.ts";
import { utf8 } from "../../internal/bytes.ts";
import { blobsNamedIn } from "../../transfer/transferredBlobs.ts";
import type { LogRecord } from "../../checkpoint/records/Entry.ts";
import { toolOf } from "../../internal/redactedPath.ts";
import { parseBlobReference } from "../../storage/blobs.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";
import { type Places, placesAt, placesOfField, root, ValueWalk, type WalkOptions } from "../values/ValueWalk.ts";
import type { CallTools } from "./CallTools.ts";
import { HiddenValue } from "./HiddenValue.ts";
import { restatesLog, secretsIn } from "./storedSecrets.ts";

/** Fields of records with ids, names and digests, which readers and storages need. They contain no values. */
const structuralFields: ReadonlySet<string> = new Set(
  (
    "kind lane visit run key call tool effect node within request around id version from keep place move trigger status " +
    "inputType digest asked question ordinal usage gaps blobs packs structure structures runs cancelled named names " +
    "checkpointId parentId requests failedCalls standing waitingFor checksum"
  ).split(" "),
);

/** Fields whose whole value can be a number or a boolean of the user. Other numbers and booleans belong to the record. */
const valueFields: ReadonlySet<string> = new Set("input output answer value payload outcome".split(" "));

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
      ...(inputRequest !== undefined && { inputRequest: this.value(inputRequest, placesAt("input")) }),
    };
  }

  override value(value: unknown, places: Places): unknown {
    return value instanceof HiddenValue ? value : super.value(value, places);
  }

  /** Shows the names of the blobs within a redacted value, because the storage finds and deletes blobs by them. */
  protected override whole(value: unknown): unknown {
    if (value === undefined || isBlobEnvelope(value)) return value;
    const blobs = typeof value === "object" && value !== null ? blobsNamedIn(utf8(JSON.stringify(value))) : [];
    return this.options.replace(value, [...blobs].map((blob) => `${blob} `).join(""));
  }

  protected override object(value: object, places: Places): unknown {
    if (isBlobEnvelope(value)) return value;
    const fields = Object.entries(value);
    const [only, content] = fields.length === 1 ? (fields[0] as readonly [string, unknown]) : ["", undefined];
    if (only === "$plain") return { $plain: this.value(content, places) };
    if (only === "$rich") return this.#rich(value, content, places);
    if (only === "$outcomes" && Array.isArray(content) && content.every(isResult))
      return { $outcomes: content.map((result) => this.#result(result, places)) };
    this.#tools.note(value);
    return super.object(value, places);
  }

  /** A rich value has type annotations for its fields, so it is replaced as a whole. */
  #rich(value: object, content: unknown, places: Places): unknown {
    const { json } = Object(content) as { readonly json?: unknown };
    const plain = withoutEscapes(json);
    const isRedacted = super.value(plain, places) !== plain || super.value(content, places) !== content;
    return isRedacted ? this.options.replaceText(value, "") : value;
  }

  /** The result of a tool call in a message has its output beside the part. */
  #result(result: StoredResult, places: Places): unknown {
    const tool = toolOf(result.part);
    const entries = Object.entries(result).map(([key, item]) => [
      key,
      this.value(item, key === "output" ? placesOfField(places, key, tool) : places),
    ]);
    return Object.fromEntries(entries) as unknown;
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
    if (restatesLog(record)) return Object.fromEntries([...fields.filter(notSecrets), ...this.#secrets(record)]);
    return Object.fromEntries(record["kind"] === "run" ? [...fields.filter(notMark), this.#mark()] : fields);
  }

  /** A reader that begins at the record learns the secrets of the records before it. */
  #secrets({ secrets }: Fields): readonly (readonly [string, unknown])[] {
    const known = this.options.secrets.newest;
    if (known.length > 0) return [["secrets", this.options.replaceText(known, "")]];
    return typeof secrets === "string" ? [["secrets", secrets]] : [];
  }

  /** Readers without the vault see a token here, and refuse to run the agent. */
  #mark(): readonly [string, unknown] {
    return ["vault", this.options.replaceText("", "")];
  }

  #field(record: Fields, key: string, item: unknown, tool: string | undefined): unknown {
    const field = `${String(record["kind"])}.${key}`;
    if (restatedRecords.has(field)) return this.#record(item as Fields);
    if (restatedEntries.has(field))
      return (item as readonly RestatedEntry[]).map((entry) => ({ ...entry, records: this.records(entry.records) }));
    if (structuralFields.has(key)) return item;
    if (field === "storage.value") return this.value(item, placesAt("storage", String(record["key"])));
    // The input of a checkpoint is the output of the node before it.
    const others = field === "checkpoint.input" ? placesAt("output") : [];
    return this.value(item, [...placesOfField(root, key, tool), ...others]);
  }
}

function isBlobEnvelope(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const fields = Object.entries(value);
  const [key, cell] = fields[0] ?? [];
  if (fields.length !== 1 || key !== "$blob" || !isBlobCell(cell)) return false;
  const [reference, , hash = "0".repeat(64)] = cell;
  return cell.length <= 3 && parseBlobReference(reference) !== undefined && /^[0-9a-f]{64}$/.test(hash);
}

function isResult(value: unknown): value is StoredResult {
  const { part, output: _output, ...others } = Object(value) as Fields;
  return typeof part === "object" && part !== null && Object.keys(others).length === 0;
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

function notSecrets([key]: readonly [string, unknown]): boolean {
  return key !== "secrets";
}

function notMark([key]: readonly [string, unknown]): boolean {
  return key !== "vault";
}
