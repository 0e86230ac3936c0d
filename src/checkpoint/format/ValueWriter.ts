import { concatenated } from "../../internal/bytes.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { ContentPart, Message } from "../messages/Message.ts";
import type { AgentRecord } from "../records/AgentRecord.ts";
import { blobCellsIn, packsIn } from "../records/blobReferences.ts";
import type { Visit } from "../records/Visit.ts";
import { type BlobCell, type Pack, textHashOf } from "../values/BlobCell.ts";
import { estimateBytes } from "../values/estimateBytes.ts";
import { type AnswerReference, encodeValue, type StoredResult, type StoredValue } from "../values/valueCodec.ts";

type ToolResultPart = Extract<ContentPart, { type: "tool-result" }>;

/** A large value or a pack on its way to the blob store. What refers to it is whole once `place` was called. */
export interface BlobUpload {
  readonly content: string | Uint8Array;
  /** @param compressed true when the blob holds the text compressed. */
  readonly place: (reference: string, compressed: boolean) => void;
}

interface WaitingUpload extends BlobUpload {
  /** What a record refers to it by. */
  readonly target: BlobCell | Pack;
  /** Absent: a pack. */
  readonly hash?: string;
}

/** An answer that is in the log. */
interface NotedAnswer {
  readonly visit: Visit;
  readonly request: number;
  readonly within: string | undefined;
  readonly lane: number;
}

/** Outputs of the calls of a lane's latest visit and of the one before; older ones are written again if they come up. */
interface VisitOutputs {
  readonly latest: Map<string, unknown>;
  readonly older: ReadonlyMap<string, unknown>;
}

/** Values up to this many bytes of UTF-8 JSON stay in the log. */
export const defaultInlineThresholdBytes = 10 * 1024;

/**
 * Writes the values of one log: each once. What is already in the log is referred to: an answer where a message repeats
 * it, an outcome where a tool message does, a message where it is the input of a node. Large values become blobs.
 */
export class ValueWriter {
  readonly #sha256: Sha256;
  readonly #threshold: number;
  /** By the hash of their text: blobs that the log refers to already, and those on their way. */
  readonly #blobs: Map<string, BlobCell>;
  /** Hashes of the contents that packs of the log have already. */
  readonly #contents: Set<string>;
  #answers = new WeakMap<object, NotedAnswer>();
  /** Messages that joined branches have added. */
  #joined = new WeakMap<object, readonly [number: number, lane: number]>();
  #joinedLanes = new Set<number>();
  /** By lane. */
  #outputs = new Map<number, VisitOutputs>();
  #uploads: WaitingUpload[] = [];

  constructor(options: {
    readonly sha256: Sha256;
    readonly inlineThresholdBytes?: number;
    /** Those that the log refers to already. */
    readonly blobs?: Iterable<BlobCell>;
    readonly contents?: Iterable<string>;
  }) {
    this.#sha256 = options.sha256;
    this.#threshold = options.inlineThresholdBytes ?? defaultInlineThresholdBytes;
    this.#blobs = new Map([...(options.blobs ?? [])].map((cell) => [textHashOf(cell), cell]));
    this.#contents = new Set(options.contents);
  }

  /** @throws NotSerializableError */
  value(value: unknown, subject: string): StoredValue {
    return this.#externalise(encodeValue(value, subject));
  }

  /** @param lane the lane of the record that contains it. @throws NotSerializableError */
  message(message: Message, subject: string, lane: number): StoredValue {
    const reference = this.#referenceTo(message, lane);
    if (reference) return reference;
    const results = message.role === "tool" ? this.#results(message, subject, lane) : undefined;
    return results ? { $outcomes: results } : this.byValue(message, subject);
  }

  /**
   * A message that refers to nothing but blobs: so a tool output that is one already is not stored again within it.
   *
   * @throws NotSerializableError
   */
  byValue(message: Message, subject: string): StoredValue {
    const slot = encodeValue(message, subject);
    const isLargeResult = message.role === "tool" && isToolMessage(message) && this.#largeText(slot) !== undefined;
    if (!isLargeResult) return this.#externalise(slot);
    return {
      $outcomes: message.content.map((content): StoredResult => {
        const result = content as ToolResultPart;
        return { part: storedPart(result, subject), output: this.value(result.output, subject) };
      }),
    };
  }

  /**
   * An input, output or other value that may be a message of the history.
   *
   * @param lane the lane of the record that contains it.
   * @throws NotSerializableError
   */
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

  /** Packs of those contents, by their SHA-256 in hex, that the log does not have yet. */
  packs(contents: ReadonlyMap<string, Uint8Array>): readonly Pack[] {
    const added = [...contents].filter(([hash]) => !this.#contents.has(hash));
    for (const [hash] of added) this.#contents.add(hash);
    return packsOf(added).map(({ bytes, contents: listed }) => {
      const pack = { blob: "", contents: listed };
      const place = (reference: string): void => void (pack.blob = reference);
      this.#uploads.push({ target: pack, content: bytes, place });
      return pack;
    });
  }

  /** An input that refers to nothing but blobs. @throws NotSerializableError */
  inputByValue(value: unknown, subject: string): StoredValue {
    const isMessage = typeof value === "object" && value !== null && isToolMessage(value);
    return isMessage ? this.byValue(value as Message, subject) : this.value(value, subject);
  }

  /** Whether the log has the message as an answer. */
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

  /** A node visit has ended on a lane. */
  nextVisit(lane: number): void {
    const { latest } = this.#outputs.get(lane) ?? {};
    if (latest?.size === 0) this.#outputs.delete(lane);
    else if (latest) this.#outputs.set(lane, { latest: new Map(), older: latest });
  }

  /**
   * A branch was joined: records of its parent's line may refer to what is on it.
   *
   * @param lanes the lanes of the branch.
   * @param messages what it has added to its history, with its number there; each is the object that is written later.
   */
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

  /** Reading may begin after here: nothing from before is referred to any more. */
  forget(): void {
    this.#answers = new WeakMap();
    this.#joined = new WeakMap();
    this.#joinedLanes = new Set();
    this.#outputs = new Map();
  }

  /** Values were written that are not going to be stored after all. @param first how many uploads there were before them. */
  withdrawUploads(first: number): void {
    for (const { hash = "" } of this.#uploads.splice(first)) this.#blobs.delete(hash);
  }

  /** Blobs that are gone: their contents are stored again when they come up. */
  forgetBlobs(references: ReadonlySet<string>): void {
    for (const [hash, [reference]] of this.#blobs) if (references.has(reference)) this.#blobs.delete(hash);
  }

  /** Contents that are gone: they are packed again when they come up. @param kept hashes of those that are still there. */
  forgetContents(kept: ReadonlySet<string>): void {
    for (const hash of this.#contents) if (!kept.has(hash)) this.#contents.delete(hash);
  }

  /** The number of blobs on their way. */
  get uploads(): number {
    return this.#uploads.length;
  }

  /**
   * What has to be in the blob store before these records are appended. Values that only records to come refer to wait: if
   * these are refused, they are never put.
   */
  takeUploads(records: readonly AgentRecord[]): readonly BlobUpload[] {
    if (this.#uploads.length === 0) return [];
    const referred = new Set<object>(records.flatMap((record) => [...blobCellsIn(record), ...packsIn(record)]));
    const taken = this.#uploads.filter(({ target }) => referred.has(target));
    this.#uploads = this.#uploads.filter(({ target }) => !referred.has(target));
    return taken;
  }

  /** What is on the own lane, or on that of a joined branch, is referred to; what another line has is written again. */
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
      // Whoever looks for the output finds it by the id: that of a part with rich values is not readable there.
      const isReadable = part["toolCallId"] === content.toolCallId && known.has(content.toolCallId);
      const stored = isReadable && Object.is(known.get(content.toolCallId), output);
      refers ||= stored;
      return stored ? { part } : { part, output: this.value(output, subject) };
    });
    return refers && isToolMessage(message) ? results : undefined;
  }

  #externalise(slot: StoredValue): StoredValue {
    const text = this.#largeText(slot);
    if (text === undefined) return slot;
    const hash = this.#sha256.hex(text.text);
    const known = this.#blobs.get(hash);
    if (known) return { $blob: known };
    const cell: BlobCell = ["", text.bytes];
    const place = (reference: string, compressed: boolean): void => {
      cell[0] = reference;
      if (compressed) cell[2] = hash;
    };
    this.#blobs.set(hash, cell);
    this.#uploads.push({ target: cell, hash, content: text.text, place });
    return { $blob: cell };
  }

  /** The text of a value that is to be a blob. */
  #largeText(slot: StoredValue): { readonly text: string; readonly bytes: number } | undefined {
    if (estimateBytes(slot) * 3 <= this.#threshold) return undefined;
    const text = JSON.stringify(slot);
    const bytes = new TextEncoder().encode(text).length;
    return bytes <= this.#threshold ? undefined : { text, bytes };
  }
}

/** Whether it can be stored without its outputs: it is read back with its role first, and no other fields. */
function isToolMessage(value: object): boolean {
  const { role, content } = value as { readonly role?: unknown; readonly content?: unknown };
  const [first, second, ...others] = Object.keys(value);
  if (first !== "role" || second !== "content" || others.length > 0) return false;
  return role === "tool" && Array.isArray(content) && content.every(isToolResult);
}

/** A result without its output, which is read back last, or else where `null` stands for it: the order of the fields stays. */
function storedPart(result: ToolResultPart, subject: string): StoredResult["part"] {
  const { output: _, ...others } = result;
  const isLast = Object.keys(result).at(-1) === "output";
  return encodeValue(isLast ? others : { ...result, output: null }, subject) as StoredResult["part"];
}

function isToolResult(part: unknown): boolean {
  if (typeof part !== "object" || part === null) return false;
  return "type" in part && part.type === "tool-result" && "output" in part;
}

/** A pack is closed when it has this many bytes: what is read at once to get at one content stays small. */
const packBytes = 4 * 1024 * 1024;

/** Contents laid end to end, in as few packs as their size allows: syncing one blob costs what syncing a small one does. */
export function packsOf(
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
