import { decodeEntry } from "../checkpoint/format/entryCodec.ts";
import type { AgentRecord } from "../checkpoint/records/AgentRecord.ts";
import { addAllBlobs, blobCellsOf } from "../checkpoint/records/blobReferences.ts";
import { UnreadableValueError, InvalidArchiveError } from "../errors/storedDataErrors.ts";
import type { StoredValue } from "../checkpoint/values/valueCodec.ts";
import type { Sha256 } from "../internal/sha256/Sha256.ts";
import { type BlobStore, blobsAtOnce, storedBlobsOf } from "../storage/BlobStore.ts";
import type { ArchivePart } from "./format/archiveFormat.ts";
import { includesText } from "../internal/bytes.ts";
import { Pace } from "../internal/nextTurn.ts";
import type { TransferStorage } from "./logOf.ts";
import { parseBlobReference } from "../storage/blobs.ts";

/** The search text starts with a rare character, because that makes the search fast. */
const slashes = new TextEncoder().encode("//");
const references = /blob:\/\/[0-9a-f]{64}-[1-9][0-9]{0,14}(?:\.gz)?/g;
/** References are ASCII, so decoding as Latin-1 is cheap and safe. */
const latin1 = new TextDecoder("latin1");

type BlobPart = Extract<ArchivePart, { kind: "blob" }>;

interface BlobOptions {
  readonly sha256: Sha256;
  /** Lines up to this position can refer to blobs that a pruning has deleted. */
  readonly prunedUpTo: number;
  /** Whether the log belongs to an agent. */
  readonly isOfAgent: boolean;
}

/** Finds the blobs that lines name, and reads each blob once. */
export class BlobsOfLines {
  readonly #blobs: BlobStore;
  readonly #agentId: string;
  readonly #options: BlobOptions;
  readonly #given = new Set<string>();

  constructor(blobs: BlobStore, agentId: string, options: BlobOptions) {
    this.#blobs = blobs;
    this.#agentId = agentId;
    this.#options = options;
  }

  get count(): number {
    return this.#given.size;
  }

  /** Returns the strings in a line that look like references to blobs that were not read yet. */
  newIn(line: Uint8Array): readonly string[] {
    return [...blobsNamedIn(line)].filter((reference) => !this.#given.has(reference));
  }

  /** Reads a blob of a line that refers to it. @throws CorruptBlobError, UnreadableValueError for a missing blob */
  async read(reference: string, line: Uint8Array): Promise<BlobPart | undefined> {
    const bytes = await this.#blobs.get(this.#agentId, reference);
    if (!bytes) return this.#assertNotNeeded(line, reference);
    this.#given.add(reference);
    return { kind: "blob", reference, bytes };
  }

  /**
   * Checks that a missing blob is not needed. It is not needed if user text only looks like its reference, or if a
   * `pruned` record lists it.
   */
  #assertNotNeeded(line: Uint8Array, blob: string): undefined {
    const { sha256, prunedUpTo, isOfAgent } = this.#options;
    const decoded = decodeEntry(line, sha256);
    if (!decoded.ok || decoded.entry.position <= prunedUpTo) return undefined;
    const needed = new Map<string, number>();
    for (const record of restatedIn(decoded.entry.records as readonly AgentRecord[])) {
      if (isOfAgent) addAllBlobs(record, needed);
      else addNestedBlobs(record, needed);
    }
    if (needed.has(blob)) throw new UnreadableValueError(`the blob ${blob} is missing`, { blob });
    return undefined;
  }
}

function restatedIn(records: readonly AgentRecord[]): readonly AgentRecord[] {
  return records.flatMap((record) =>
    record.kind === "pruned"
      ? ((record as Partial<typeof record>).restated ?? []).flatMap((each) => each.records)
      : record,
  );
}

/** Adds the blobs of stored values anywhere in a record, because each kind of log keeps its values elsewhere. */
function addNestedBlobs(value: unknown, into: Map<string, number>): void {
  if (typeof value !== "object" || value === null) return;
  for (const [reference, bytes] of blobCellsOf(value as StoredValue)) into.set(reference, bytes);
  for (const nested of Object.values(value)) addNestedBlobs(nested, into);
}

/** Returns all strings in a line that look like blob references. User text can look the same. */
export function blobsNamedIn(line: Uint8Array): ReadonlySet<string> {
  return new Set(includesText(line, slashes) ? latin1.decode(line).match(references) : []);
}

/** The maximum number of pending blob bytes, unless a single blob is larger. */
const mostBytes = 8 * 1024 * 1024;

/** Stores the blobs of an archive concurrently while more data arrives. */
class ReceivedBlobs {
  readonly #blobs: BlobStore;
  readonly #agentId: string;
  readonly #storing = new Set<Promise<void>>();
  #bytes = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(blobs: BlobStore, agentId: string) {
    this.#blobs = storedBlobsOf(blobs);
    this.#agentId = agentId;
  }

  /** Starts to store a blob. Waits while too many are pending. @throws the error of an earlier blob */
  async put(reference: string, bytes: Uint8Array): Promise<void> {
    while (this.#storing.size >= blobsAtOnce || (this.#storing.size > 0 && this.#bytes + bytes.length > mostBytes))
      await Promise.race(this.#storing);
    this.#assertStored();
    this.#bytes += bytes.length;
    const storing = this.#store(reference, bytes)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#storing.delete(storing);
        this.#bytes -= bytes.length;
      });
    this.#storing.add(storing);
  }

  /**
   * Resolves after all blobs are stored.
   *
   * @throws InvalidArchiveError for a blob with another hash, or a storage error
   */
  async stored(): Promise<void> {
    if (this.#storing.size > 0) await this.ended();
    this.#assertStored();
  }

  /** Resolves after all pending writes have settled. Never rejects. */
  async ended(): Promise<void> {
    await Promise.all(this.#storing);
  }

  #assertStored(): void {
    if (this.#failure) throw this.#failure.error;
  }

  async #store(reference: string, bytes: Uint8Array): Promise<void> {
    const { generation = 1, encoding } = parseBlobReference(reference) ?? {};
    if ((await this.#blobs.put(this.#agentId, generation, bytes, encoding)) !== reference)
      throw new InvalidArchiveError(`the blob ${reference} has another content`);
  }
}

/** Receives the lines of an archive and the names of its blobs, and can refuse them. */
interface LineReceiver {
  addLine(line: Uint8Array): void;
  addBlob(reference: string): void;
}

/** Stores blobs before the line that refers to them. */
export async function* receivedLines(
  parts: AsyncIterable<ArchivePart>,
  { log }: TransferStorage<"receive">,
  agentId: string,
  receiver: LineReceiver,
): AsyncGenerator<Uint8Array, void, undefined> {
  const pace = new Pace();
  const blobs = new ReceivedBlobs(log.blobs, agentId);
  try {
    for await (const part of parts) {
      await pace.after(part.bytes.length);
      if (part.kind === "line") {
        receiver.addLine(part.bytes);
        await blobs.stored();
        yield part.bytes;
      } else {
        receiver.addBlob(part.reference);
        await blobs.put(part.reference, part.bytes);
      }
    }
    await blobs.stored();
  } finally {
    await blobs.ended();
  }
}
