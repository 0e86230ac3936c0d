import { isBlobCell } from "../../checkpoint/values/BlobCell.ts";
import { envelopeKeyOf, type StoredResult } from "../../checkpoint/values/valueCodec.ts";
import { utf8 } from "../../internal/bytes.ts";
import { toolOf } from "../../internal/options/redactedPath.ts";
import { parseBlobReference } from "../../storage/blobs.ts";
import { blobsNamedIn } from "../../transfer/transferredBlobs.ts";
import { type LibraryFields, chatMessageFields, partFields } from "./libraryFields.ts";
import { type Places, placesOfField, ValueWalk, type WalkOptions } from "./ValueWalk.ts";

type Fields = Readonly<Record<string, unknown>>;

export class StoredValueWalk extends ValueWalk {
  constructor(options: WalkOptions) {
    const { keeps } = options;
    super({ ...options, keeps: (text) => parseBlobReference(text) !== undefined || keeps?.(text) === true });
  }

  override value(value: unknown, places: Places): unknown {
    const reference = blobOf(value);
    if (reference === undefined) return super.value(value, places);
    this.options.inBlob?.(reference, this.isRedactedAt(places) ? undefined : places);
    return value;
  }

  /** Handles references, because a stored message can refer to another message or to outcomes. */
  override structure(value: unknown, places: Places, fields: LibraryFields): unknown {
    const key = fields === chatMessageFields ? envelopeKeyOf(value) : undefined;
    if (key === "$message" || key === "$answer") return value;
    if (key === undefined) return super.structure(value, places, fields);
    const { $outcomes } = value as { readonly $outcomes?: unknown };
    if (!Array.isArray($outcomes) || !$outcomes.every(isResult)) return this.value(value, places);
    return { $outcomes: $outcomes.map((result) => this.#resultOfMessage(result, places)) };
  }

  /** Keeps the references of blobs in a redacted value visible, so that the storage can find and delete the blobs. */
  protected override whole(value: unknown): unknown {
    const reference = blobOf(value);
    if (reference !== undefined) this.options.inBlob?.(reference, undefined);
    if (value === undefined || reference !== undefined) return value;
    const blobs = typeof value === "object" && value !== null ? blobsNamedIn(utf8(JSON.stringify(value))) : [];
    return this.options.replace(value, [...blobs].map((blob) => `${blob} `).join(""));
  }

  protected override object(value: object, places: Places): unknown {
    const fields = Object.entries(value);
    const [only, content] = fields.length === 1 ? (fields[0] as readonly [string, unknown]) : ["", undefined];
    if (only === "$plain") return { $plain: this.value(content, places) };
    if (only === "$rich") return this.#rich(value, content, places);
    if (only === "$outcomes" && Array.isArray(content) && content.every(isResult))
      return { $outcomes: content.map((result) => this.#result(result, places)) };
    return super.object(value, places);
  }

  /** Replaces a value such as a `Map` as a whole, because its stored form has type annotations. */
  #rich(value: object, content: unknown, places: Places): unknown {
    const { json } = Object(content) as { readonly json?: unknown };
    const plain = withoutEscapes(json);
    const isRedacted = super.value(plain, places) !== plain || super.value(content, places) !== content;
    return isRedacted ? this.options.replaceText(value, "") : value;
  }

  /** Redacts the result of a tool call in a message, whose output is stored separately. */
  #result(result: StoredResult, places: Places): unknown {
    const tool = toolOf(result.part);
    const entries = Object.entries(result).map(([key, item]) => [
      key,
      this.value(item, key === "output" ? placesOfField(places, key, tool) : places),
    ]);
    return Object.fromEntries(entries) as unknown;
  }

  #resultOfMessage(result: StoredResult, places: Places): StoredResult {
    const part = this.structure(result.part, places, partFields) as StoredResult["part"];
    if (result.output === undefined) return { part };
    return { part, output: this.value(result.output, placesOfField(places, "output", toolOf(result.part))) };
  }
}

/** Returns the reference if a stored value is in a blob. */
function blobOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const fields = Object.entries(value);
  const [key, cell] = fields[0] ?? [];
  if (fields.length !== 1 || key !== "$blob" || !isBlobCell(cell)) return undefined;
  const [reference, , hash = "0".repeat(64)] = cell;
  const isBlob = cell.length <= 3 && parseBlobReference(reference) !== undefined && /^[0-9a-f]{64}$/.test(hash);
  return isBlob ? reference : undefined;
}

function isResult(value: unknown): value is StoredResult {
  const { part, output: _output, ...others } = Object(value) as Fields;
  return typeof part === "object" && part !== null && Object.keys(others).length === 0;
}

/** Returns the stored JSON of a value such as a `Map`, with the original field names. */
function withoutEscapes(json: unknown): unknown {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return json.map(withoutEscapes);
  const { name, fields, ...others } = json as Fields;
  // The fields of plain objects start with a colon. The fields of class instances do not.
  if (typeof name === "string" && fields !== undefined && Object.keys(others).length === 0)
    return withoutEscapes(fields);
  return Object.fromEntries(
    Object.entries(json).map(([key, item]) => [key.startsWith(":") ? key.slice(1) : key, withoutEscapes(item)]),
  );
}
