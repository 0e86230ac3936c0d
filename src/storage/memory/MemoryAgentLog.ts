import { type ChainLink, EntryChain } from "../../checkpoint/format/EntryChain.ts";
import { decodeEntry, encodeEntry, hasSnapshot, verifiedLinkOf } from "../../checkpoint/format/entryCodec.ts";
import { type Entry, type PrunedGap, prunedGapsOf } from "../../checkpoint/records/Entry.ts";
import { CorruptLogError } from "../../errors/storedDataErrors.ts";
import { PositionConflictError } from "../../errors/storageErrors.ts";
import { countFirst } from "../../internal/countFirst.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { AgentSummary, LogAppend, ReadOptions } from "../RecordLog.ts";

export class MemoryAgentLog {
  readonly agentId: string;
  readonly #sha256: Sha256;
  #appends = new EntryBytes();
  #snapshots: number[] = [];
  #gaps: PrunedGap[] = [];
  #start = 0;
  #position = 0;
  #checksum = "";
  #summary: string | undefined;

  constructor(agentId: string, sha256: Sha256) {
    this.agentId = agentId;
    this.#sha256 = sha256;
  }

  get position(): number {
    return this.#position;
  }

  get isEmpty(): boolean {
    return this.#position === this.#start;
  }

  get summary(): AgentSummary | undefined {
    return this.#summary === undefined ? undefined : (JSON.parse(this.#summary) as AgentSummary);
  }

  append(append: LogAppend, expectedPosition: number, generation: number): number {
    if (expectedPosition !== this.#position) return this.#acknowledgeAgain(append, expectedPosition);
    const { id, records, summary, snapshot = false } = append;
    const position = expectedPosition + 1;
    const { encoded, checksum } = encodeEntry(
      { position, generation, id, records, prev: this.#checksum, snapshot },
      this.#sha256,
    );
    const summaryText = summary === undefined ? this.#summary : JSON.stringify({ ...summary, position });
    this.#appends.push(position, encoded.subarray(0, -1));
    this.#position = position;
    this.#checksum = checksum;
    this.#summary = summaryText;
    if (snapshot) this.#snapshots.push(position);
    this.#gaps.push(...prunedGapsOf(records));
    return position;
  }

  /** Yields the entries that were appended before the iteration started. */
  *read({ after = 0, upTo = this.#position, sinceSnapshot = false }: ReadOptions): Generator<Entry> {
    const appends = this.#appends;
    const snapshot = sinceSnapshot ? (this.#snapshots.findLast((position) => position <= upTo) ?? 0) : 0;
    const from = Math.max(after, snapshot - 1);
    const chain = new EntryChain(
      this.#gaps.filter(({ last: end }) => end > from),
      from <= this.#start ? { position: this.#start, checksum: "" } : undefined,
    );
    const last = Math.min(upTo, this.#position);
    for (let index = appends.indexAfter(from); appends.positionAt(index) <= last; index++) {
      const entry = this.#decode(appends, index);
      const defect = chain.accept(entry);
      if (defect !== undefined) throw this.#corrupt(appends, index, defect);
      if (!chain.isPruned(entry.position)) yield entry;
    }
  }

  *encodedAppends(upTo = this.#position): Generator<Uint8Array> {
    const [appends, last] = [this.#appends, Math.min(upTo, this.#position)];
    const chain = new EntryChain([...this.#gaps], { position: this.#start, checksum: "" });
    for (let index = 0; appends.positionAt(index) <= last; index++) {
      const encoded = appends.appendAt(index);
      const link = verifiedLinkOf(encoded, this.#sha256);
      const defect = link ? chain.accept(link) : "checksum";
      if (defect !== undefined) throw this.#corrupt(appends, index, defect);
      if (!chain.isPruned(appends.positionAt(index))) yield encoded.slice();
    }
  }

  receive(encoded: Uint8Array, { position, checksum }: ChainLink): void {
    if (this.#appends.length === 0) this.#start = position - 1;
    this.#appends.push(position, encoded);
    this.#position = position;
    this.#checksum = checksum;
    if (hasSnapshot(encoded)) this.#snapshots.push(position);
  }

  receiveGaps(gaps: readonly PrunedGap[]): void {
    this.#gaps.push(...gaps);
  }

  get unremovedBytes(): number {
    return this.#prunedIndexes().reduce((sum, index) => sum + this.#appends.appendAt(index).length, 0);
  }

  prune(): void {
    const positions = new Set(this.#prunedIndexes().map((index) => this.#appends.positionAt(index)));
    this.#appends = this.#appends.without(positions);
    this.#snapshots = this.#snapshots.filter((position) => !positions.has(position));
  }

  /** Removes all data except the position, so that a late writer still conflicts. */
  clear(): void {
    this.#appends = new EntryBytes();
    this.#snapshots = [];
    this.#gaps = [];
    this.#start = this.#position;
    this.#checksum = "";
    this.#summary = undefined;
  }

  #prunedIndexes(): readonly number[] {
    const chain = new EntryChain(this.#gaps);
    const indexes = Array.from({ length: this.#appends.length }, (_, index) => index);
    return indexes.filter((index) => chain.isPruned(this.#appends.positionAt(index)));
  }

  #acknowledgeAgain({ id }: LogAppend, expectedPosition: number): number {
    const position = expectedPosition + 1;
    const index = this.#appends.indexAfter(expectedPosition);
    if (this.#appends.positionAt(index) === position && this.#decode(this.#appends, index).id === id) return position;
    throw new PositionConflictError(this.agentId, expectedPosition, this.#position);
  }

  #decode(appends: EntryBytes, index: number): Entry {
    const decoded = decodeEntry(appends.appendAt(index), this.#sha256);
    if (!decoded.ok) throw this.#corrupt(appends, index, decoded.defect);
    return decoded.entry;
  }

  #corrupt(appends: EntryBytes, index: number, found: string): CorruptLogError {
    const before = index === 0 ? {} : { lastPosition: appends.positionAt(index - 1) };
    return new CorruptLogError(this.agentId, { file: "memory", line: index + 1, ...before }, found);
  }
}

const smallestChunk = 4 * 1024;
const largestChunk = 256 * 1024;

/**
 * Stores the encoded appends of one log as bytes in chunks. Strings would take much more memory, because they use two
 * bytes per character outside Latin-1. One array per append would add about 100 bytes per append.
 */
class EntryBytes {
  readonly #chunks: Uint8Array[] = [];
  readonly #chunkOf: number[] = [];
  readonly #startOf: number[] = [];
  readonly #endOf: number[] = [];
  readonly #positionOf: number[] = [];
  #used = 0;
  #total = 0;

  get length(): number {
    return this.#positionOf.length;
  }

  push(position: number, encoded: Uint8Array): void {
    const last = this.#chunks.at(-1);
    if (last === undefined || last.length - this.#used < encoded.length) this.#grow(encoded.length);
    const start = this.#used;
    this.#chunks.at(-1)?.set(encoded, start);
    this.#used += encoded.length;
    this.#total += encoded.length;
    this.#chunkOf.push(this.#chunks.length - 1);
    this.#startOf.push(start);
    this.#endOf.push(this.#used);
    this.#positionOf.push(position);
  }

  appendAt(index: number): Uint8Array {
    const chunk = this.#chunks[this.#chunkOf[index] ?? 0] ?? new Uint8Array();
    return chunk.subarray(this.#startOf[index], this.#endOf[index]);
  }

  positionAt(index: number): number {
    return this.#positionOf[index] ?? Infinity;
  }

  indexAfter(position: number): number {
    return countFirst(this.#positionOf, (at) => at <= position);
  }

  /** Returns a copy without some positions, so that the original memory can be freed. */
  without(positions: ReadonlySet<number>): EntryBytes {
    const kept = new EntryBytes();
    for (let index = 0; index < this.length; index++) {
      if (!positions.has(this.positionAt(index))) kept.push(this.positionAt(index), this.appendAt(index));
    }
    return kept;
  }

  #grow(needed: number): void {
    const size = Math.min(largestChunk, Math.max(smallestChunk, this.#total >> 1));
    this.#chunks.push(new Uint8Array(Math.max(size, needed)));
    this.#used = 0;
  }
}
