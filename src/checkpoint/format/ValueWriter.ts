import { concatenated } from "../../internal/bytes.ts";
import type { ContentPart, Message } from "../messages/Message.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { blobCellsIn, packsIn } from "../records/blobReferences.ts";
import type { Visit } from "../records/Visit.ts";
import type { Pack } from "../values/BlobCell.ts";
import { BlobWriter, type BlobUpload, type BlobWriterOptions } from "./BlobWriter.ts";
import { type AnswerReference, encodeValue, type StoredResult, type StoredValue } from "../values/valueCodec.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { HistoryChange, NumberedMessage } from "../messages/MessageHistory.ts";

type ToolResultPart = Extract<ContentPart, { type: "tool-result" }>;

interface NotedAnswer {
  readonly visit: Visit;
  readonly request: number;
  readonly within: string | undefined;
  readonly lane: number;
}

/** Tool outputs of the last two node executions on a lane. Messages refer to these outputs, and contain older ones. */
interface VisitOutputs {
  readonly latest: Map<string, unknown>;
  readonly older: ReadonlyMap<string, unknown>;
}

/** Encodes the values of one log. Stores each value once, and refers to it later. Large values become blobs. */
export class ValueWriter extends BlobWriter {
  readonly #contents: Set<string>;
  #answers = new WeakMap<object, NotedAnswer>();
  #joined = new WeakMap<object, readonly [number: number, lane: number]>();
  #joinedLanes = new Set<number>();
  #outputs = new Map<number, VisitOutputs>();

  constructor(options: BlobWriterOptions & { readonly contents?: Iterable<string> }) {
    super(options);
    this.#contents = new Set(options.contents);
  }

  /** @param lane - the lane of the record with the message. @throws NotSerializableError */
  message(message: Message, subject: string, lane: number): StoredValue {
    const reference = this.#referenceTo(message, lane);
    if (reference) return reference;
    const results = message.role === "tool" ? this.#results(message, subject, lane) : undefined;
    return results ? { $outcomes: results } : this.byValue(message, subject);
  }

  /** Encodes a message that refers only to blobs. @throws NotSerializableError */
  byValue(message: Message, subject: string): StoredValue {
    const slot = encodeValue(message, subject);
    const isLargeResult = message.role === "tool" && isToolMessage(message) && this.largeText(slot) !== undefined;
    if (!isLargeResult) return this.externalise(slot);
    return {
      $outcomes: message.content.map((content): StoredResult => {
        const result = content as ToolResultPart;
        return { part: storedPart(result, subject), output: this.value(result.output, subject) };
      }),
    };
  }

  /** Encodes a value that can be a message. @param lane - the lane of its record. @throws NotSerializableError */
  input(
    value: unknown,
    subject: string,
    lane: number,
    numberOf: (message: unknown) => number | undefined,
  ): StoredValue {
    if (typeof value !== "object" || value === null) return this.value(value, subject);
    const number = numberOf(value);
    if (number !== undefined) return { $message: number };
    const isMessage = isToolMessage(value) || this.#answers.has(value) || this.#joined.has(value);
    return isMessage ? this.message(value as Message, subject, lane) : this.value(value, subject);
  }

  packs(contents: ReadonlyMap<string, Uint8Array>): readonly Pack[] {
    const added = [...contents].filter(([hash]) => !this.#contents.has(hash));
    for (const [hash] of added) this.#contents.add(hash);
    return packsOf(added).map(({ bytes, contents: listed }) => {
      const pack = { blob: "", contents: listed };
      const place = (reference: string): void => void (pack.blob = reference);
      this.upload({ target: pack, content: bytes, place });
      return pack;
    });
  }

  /** Encodes an input that refers only to blobs. @throws NotSerializableError */
  inputByValue(value: unknown, subject: string): StoredValue {
    const isMessage = typeof value === "object" && value !== null && isToolMessage(value);
    return isMessage ? this.byValue(value as Message, subject) : this.value(value, subject);
  }

  isAnswer(message: Message): boolean {
    return this.#answers.has(message);
  }

  noteAnswer(message: Message, visit: Visit, request: number, within: string | undefined, lane: number): void {
    this.#answers.set(message, { visit, request, within, lane });
  }

  noteOutcome(call: string, output: unknown, lane: number): void {
    const outputs = this.#outputs.get(lane);
    if (outputs) outputs.latest.set(call, output);
    else this.#outputs.set(lane, { latest: new Map([[call, output]]), older: new Map() });
  }

  nextVisit(lane: number): void {
    const { latest } = this.#outputs.get(lane) ?? {};
    if (latest?.size === 0) this.#outputs.delete(lane);
    else if (latest) this.#outputs.set(lane, { latest: new Map(), older: latest });
  }

  /** Allows later records to refer to the lanes of a joined branch, and to the messages that the branch added. */
  noteJoined(
    lanes: readonly number[],
    messages: readonly { readonly number: number; readonly message: Message }[],
  ): void {
    const lane = lanes.at(-1);
    if (lane === undefined) return;
    for (const each of lanes) {
      this.#joinedLanes.add(each);
      this.#outputs.delete(each);
    }
    for (const { number, message } of messages) this.#joined.set(message, [number, lane]);
  }

  forget(): void {
    this.#answers = new WeakMap();
    this.#joined = new WeakMap();
    this.#joinedLanes = new Set();
    this.#outputs = new Map();
  }

  /** Marks all contents except `kept` as not stored, so that they are stored again when a record needs them. */
  forgetContents(kept: ReadonlySet<string>): void {
    for (const hash of this.#contents) if (!kept.has(hash)) this.#contents.delete(hash);
  }

  /** Returns the blobs to store before these records. The blobs of other records stay pending. */
  takeUploads(records: readonly AgentRecord[]): readonly BlobUpload[] {
    if (this.uploads === 0) return [];
    return this.take(new Set<object>(records.flatMap((record) => [...blobCellsIn(record), ...packsIn(record)])));
  }

  /** Returns a reference to a message of the same lane or of a joined branch. `undefined` for all other messages. */
  #referenceTo(message: Message, lane: number): object | undefined {
    const joined = this.#joined.get(message);
    if (joined && joined[1] !== lane) return { $message: joined };
    const answer = this.#answers.get(message);
    if (!answer) return undefined;
    const { visit, request, within } = answer;
    const own: AnswerReference = within === undefined ? [...visit, request] : [...visit, request, within];
    if (answer.lane === lane) return { $answer: own };
    return this.#joinedLanes.has(answer.lane)
      ? { $answer: [...visit, request, within ?? null, answer.lane] satisfies AnswerReference }
      : undefined;
  }

  #results(message: Message & { readonly role: "tool" }, subject: string, lane: number): StoredResult[] | undefined {
    const outputs = this.#outputs.get(lane);
    if (!outputs) return undefined;
    let refers = false;
    const results = message.content.map((content): StoredResult => {
      if (content.type !== "tool-result") return { part: {}, output: null };
      const { output } = content;
      const known = outputs.latest.has(content.toolCallId) ? outputs.latest : outputs.older;
      const part = storedPart(content, subject);
      // Readers find an omitted output by the call id, so the stored part must contain this id as plain JSON.
      const isReadable = part["toolCallId"] === content.toolCallId && known.has(content.toolCallId);
      const stored = isReadable && Object.is(known.get(content.toolCallId), output);
      refers ||= stored;
      return stored ? { part } : { part, output: this.value(output, subject) };
    });
    return refers && isToolMessage(message) ? results : undefined;
  }
}

/** Returns whether the outputs of a tool message can be omitted: it has only the fields `role` and `content`. */
function isToolMessage(value: object): boolean {
  const { role, content } = value as { readonly role?: unknown; readonly content?: unknown };
  const [first, second, ...others] = Object.keys(value);
  if (first !== "role" || second !== "content" || others.length > 0) return false;
  return role === "tool" && Array.isArray(content) && content.every(isToolResult);
}

/** Returns a tool result without its output. `null` replaces an output that is not the last field. */
function storedPart(result: ToolResultPart, subject: string): StoredResult["part"] {
  const { output: _, ...others } = result;
  const isLast = Object.keys(result).at(-1) === "output";
  return encodeValue(isLast ? others : { ...result, output: null }, subject) as StoredResult["part"];
}

function isToolResult(part: unknown): boolean {
  if (typeof part !== "object" || part === null) return false;
  return "type" in part && part.type === "tool-result" && "output" in part;
}

/** The maximum size of a pack in bytes. Reading one content can require reading the whole pack. */
const packBytes = 4 * 1024 * 1024;

/** Packs contents into as few blobs as possible, because each blob must be written to the device separately. */
function packsOf(
  contents: readonly (readonly [hash: string, bytes: Uint8Array])[],
): readonly { readonly bytes: Uint8Array; readonly contents: readonly (readonly [hash: string, bytes: number])[] }[] {
  const groups: (readonly [hash: string, bytes: Uint8Array])[][] = [];
  let filled = Infinity;
  for (const content of contents) {
    if (filled >= packBytes) {
      groups.push([]);
      filled = 0;
    }
    groups.at(-1)?.push(content);
    filled += content[1].length;
  }
  return groups.map((group) => ({
    bytes: concatenated(group.map(([, bytes]) => bytes)),
    contents: group.map(([hash, bytes]) => [hash, bytes.length] as const),
  }));
}

export function historyRecords(changes: readonly HistoryChange[], lane: number, writer: ValueWriter): AgentRecord[] {
  return changes.flatMap((change): AgentRecord[] => {
    const written = (messages: readonly NumberedMessage[]) =>
      messages.map(({ number, message }) => ({ number, message: writer.message(message, `message ${number}`, lane) }));
    if (change.kind === "append")
      return written(change.messages).map((fields) => ({ kind: "message", lane, ...fields }));
    const { remove, insert, before, trim } = change;
    return [withoutUndefined({ kind: "edit", lane, remove, insert: written(insert), before, trim })];
  });
}

/** Returns the records for changes of the storage. `undefined` deletes a key. @throws NotSerializableError */
export function storageRecords(
  changes: ReadonlyMap<string, { readonly value: unknown } | undefined>,
  lane: number,
  writer: ValueWriter,
): AgentRecord[] {
  return [...changes].map(([key, change]): AgentRecord => {
    if (change === undefined) return { kind: "storage", lane, key };
    return { kind: "storage", lane, key, value: writer.value(change.value, `storage key ${JSON.stringify(key)}`) };
  });
}
