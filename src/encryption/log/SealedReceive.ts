import type { ChainLink } from "../../checkpoint/format/EntryChain.ts";
import { decodeEntry, encodeEntry } from "../../checkpoint/format/entryCodec.ts";
import { ReceivedAppends } from "../../checkpoint/format/ReceivedAppends.ts";
import { type PrunedGap, prunedGapsOf } from "../../checkpoint/records/Entry.ts";
import { CorruptLogError } from "../../errors/storedDataErrors.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { encodeAppend } from "../../storage/appends/encodeAppend.ts";
import type { AgentSummary, LastAppend, LogAppend } from "../../storage/RecordLog.ts";
import type { DataKey } from "../keys/DataKeys.ts";
import { sealAppend, sealRecords } from "./sealedRecords.ts";
import { type PlainField, sealSummary } from "./sealedSummary.ts";

interface SealedReceiveOptions {
  readonly agentId: string;
  /** Returns the key of the agent. Called once the agent is owned. */
  readonly keyOf: () => Promise<DataKey>;
  readonly plain: readonly PlainField[];
  readonly sha256: Sha256;
}

/** Encrypts the appends of another log as they arrive. Positions stay, and checksums are computed again. */
export class SealedReceive {
  readonly #options: SealedReceiveOptions;
  #key: DataKey | undefined;
  /** The end of the plain appends. */
  #end: ChainLink = { position: 0, checksum: "" };
  /** The end of the stored appends. */
  #stored: ChainLink = { position: 0, checksum: "" };
  /** The gaps between the stored appends. */
  readonly #gaps: PrunedGap[] = [];

  constructor(options: SealedReceiveOptions) {
    this.#options = options;
  }

  get end(): ChainLink {
    return this.#end;
  }

  /** Verifies and encrypts appends. @throws CorruptLogError */
  async *lines(
    appends: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    generation: number,
  ): AsyncGenerator<Uint8Array> {
    const { agentId, sha256 } = this.#options;
    this.#key = await this.#options.keyOf();
    const checked = new ReceivedAppends(agentId, generation, sha256);
    for await (const given of appends) {
      const encoded = new Uint8Array(given);
      const link = checked.accept(encoded);
      yield await this.#sealed(encoded, checked.count);
      this.#end = { position: link.position, checksum: link.checksum };
    }
    checked.end();
  }

  /** Returns the encrypted append that follows the received appends. */
  async last(end: { readonly generation: number; readonly position: number }, append: LastAppend): Promise<LogAppend> {
    const { agentId, plain, sha256 } = this.#options;
    const key = this.#key as DataKey;
    const given = await append(end);
    const { generation } = end;
    const appended = encodeAppend(agentId, given, generation, this.#end, sha256);
    const { id, snapshot = false, records } = given;
    const sealed = await sealAppend(key, { agentId, generation, id, snapshot }, appended, this.#gapsIn(records), plain);
    this.#end = appended.end;
    return sealed;
  }

  async #sealed(encoded: Uint8Array, line: number): Promise<Uint8Array> {
    const { agentId, plain, sha256 } = this.#options;
    const key = this.#key as DataKey;
    const decoded = decodeEntry(encoded, sha256);
    if (!decoded.ok) throw new CorruptLogError(agentId, { file: "received lines", line }, "the line is not readable");
    const { entry, snapshot, summary } = decoded;
    const { position, generation, id } = entry;
    this.#noteJumpTo(position, entry.prev);
    const records = await sealRecords(key, { agentId, generation, position, id }, encoded, this.#gapsIn(entry.records));
    const stored = { ...(summary as AgentSummary), agentId, position };
    const sealed = {
      position,
      generation,
      id,
      records,
      snapshot,
      prev: this.#stored.checksum,
      ...(summary && { summary: withoutPlace(await sealSummary(key, stored, plain)) }),
    };
    const { encoded: bytes, checksum } = encodeEntry(sealed, sha256);
    this.#stored = { position, checksum };
    return bytes.slice(0, -1);
  }

  /** Notes that appends before a position are missing because the other log was pruned. */
  #noteJumpTo(position: number, prev: string): void {
    const { position: end, checksum } = this.#stored;
    if (end === 0 || position === end + 1) return;
    this.#gaps.push({ first: end + 1, last: position - 1, before: checksum, after: prev });
    // The missing append has no stored form. Any checksum can represent it, because its content is unknown.
    this.#stored = { position: position - 1, checksum: prev };
  }

  #gapsIn(records: LogAppend["records"]): readonly PrunedGap[] {
    return prunedGapsOf(records).length > 0 ? [...this.#gaps] : [];
  }
}

function withoutPlace({ agentId: _agentId, position: _position, ...summary }: AgentSummary): object {
  return summary;
}
