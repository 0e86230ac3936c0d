import { type ChainLink, EntryChain } from "./EntryChain.ts";
import { decodeEntry, appendLinkOf } from "./entryCodec.ts";
import { type PrunedGap, prunedGapsOf } from "../records/Entry.ts";
import { CorruptLogError } from "../../errors/storedDataErrors.ts";
import { includesText } from "../../internal/bytes.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

type Link = ChainLink & { readonly prev: string };

const lineBreak = new TextEncoder().encode("\n");
const prunedKind = new TextEncoder().encode(':"pruned"');

export const highestReceivedGeneration = 2 ** 40;

/** Verifies the appends of an imported log: their chain, their generations, and that missing appends were removed. */
export class ReceivedAppends {
  readonly #agentId: string;
  readonly #sha256: Sha256;
  readonly #highest: number;
  readonly #gaps: PrunedGap[] = [];
  readonly #jumps: (readonly [from: ChainLink, to: Link])[] = [];
  #end: ChainLink | undefined;
  #generation = 0;
  #count = 0;

  /** @param generation - the highest valid generation of an append. @throws CorruptLogError if too high. */
  constructor(agentId: string, generation: number, sha256: Sha256) {
    this.#agentId = agentId;
    this.#sha256 = sha256;
    this.#highest = generation;
    if (!Number.isSafeInteger(generation) || generation < 1 || generation > highestReceivedGeneration)
      throw this.#corrupt(`generation ${generation} is not between 1 and ${highestReceivedGeneration}`);
  }

  get count(): number {
    return this.#count;
  }

  get gaps(): readonly PrunedGap[] {
    return this.#gaps;
  }

  /** Accepts the next append without its line break and returns its link. @throws CorruptLogError */
  accept(encoded: Uint8Array): ChainLink {
    this.#count++;
    const link = includesText(encoded, lineBreak) ? undefined : appendLinkOf(encoded, this.#sha256);
    if (!link) throw this.#corrupt("the line is not readable");
    const { generation } = link;
    if (generation < this.#generation || generation > this.#highest)
      throw this.#corrupt(`generation ${generation} is not between ${this.#generation || 1} and ${this.#highest}`);
    this.#follow(link);
    this.#generation = generation;
    if (includesText(encoded, prunedKind)) this.#noteGaps(encoded);
    return link;
  }

  /** Returns the link of the last append. @throws CorruptLogError without appends, or if positions are missing */
  end(): ChainLink {
    const chain = new EntryChain(this.#gaps);
    for (const [from, to] of this.#jumps) {
      chain.accept({ ...from, prev: "" });
      const defect = chain.accept(to);
      if (defect !== undefined) throw this.#corrupt(defect);
    }
    if (!this.#end) throw this.#corrupt("there are no lines");
    return this.#end;
  }

  #follow(link: Link): void {
    const end = this.#end ?? { position: link.position - 1, checksum: "" };
    if (link.position === end.position + 1 ? link.prev !== end.checksum : link.position <= end.position)
      throw this.#corrupt(`position ${link.position} does not match the append before it`);
    if (link.position !== end.position + 1) this.#jumps.push([end, link]);
    this.#end = link;
  }

  #noteGaps(encoded: Uint8Array): void {
    const decoded = decodeEntry(encoded, this.#sha256);
    if (decoded.ok) this.#gaps.push(...prunedGapsOf(decoded.entry.records));
  }

  #corrupt(found: string): CorruptLogError {
    const last = this.#end && { lastPosition: this.#end.position };
    return new CorruptLogError(
      this.#agentId,
      { file: "received lines", line: Math.max(1, this.#count), ...last },
      found,
    );
  }
}
