import { type ChainLink, EntryChain } from "./EntryChain.ts";
import { decodeEntry } from "./entryCodec.ts";
import { verifiedPlaceOf } from "./verifiedLines.ts";
import { type PrunedGap, prunedGapsOf } from "../records/prunedGaps.ts";
import { CorruptLogError } from "../../errors/storage/CorruptLogError.ts";
import { includesText } from "../../internal/bytes.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";

type Link = ChainLink & { readonly prev: string };

const lineBreak = new TextEncoder().encode("\n");
const prunedKind = new TextEncoder().encode(':"pruned"');

/** The highest generation that lines may have which a log receives: 2^40. */
export const highestReceivedGeneration = 2 ** 40;

/**
 * Checks lines that a log receives, one after another: their checksums, that each follows the one before, and their
 * generations. It keeps none of them. Only gaps that one of the lines names as pruned are passed over.
 */
export class ReceivedLines {
  readonly #agentId: string;
  readonly #sha256: Sha256;
  readonly #highest: number;
  readonly #gaps: PrunedGap[] = [];
  /** Where positions are left out: what names them comes later. */
  readonly #jumps: (readonly [from: ChainLink, to: Link])[] = [];
  #end: ChainLink | undefined;
  #generation = 0;
  #count = 0;

  /**
   * @param generation the highest that a line may have.
   * @throws CorruptLogError when it is higher than any that a log may have.
   */
  constructor(agentId: string, generation: number, sha256: Sha256) {
    this.#agentId = agentId;
    this.#sha256 = sha256;
    this.#highest = generation;
    if (!Number.isSafeInteger(generation) || generation < 1 || generation > highestReceivedGeneration)
      throw this.#corrupt(`generation ${generation} is not between 1 and ${highestReceivedGeneration}`);
  }

  /** How many lines have come. */
  get count(): number {
    return this.#count;
  }

  /** The gaps that the lines name. */
  get gaps(): readonly PrunedGap[] {
    return this.#gaps;
  }

  /** Takes the next line, without a line break, and says where it is. @throws CorruptLogError */
  accept(line: Uint8Array): ChainLink {
    this.#count++;
    const link = includesText(line, lineBreak) ? undefined : verifiedPlaceOf(line, this.#sha256);
    if (!link) throw this.#corrupt("the line is not readable");
    const { generation } = link;
    if (generation < this.#generation || generation > this.#highest)
      throw this.#corrupt(`generation ${generation} is not between ${this.#generation || 1} and ${this.#highest}`);
    this.#follow(link);
    this.#generation = generation;
    if (includesText(line, prunedKind)) this.#noteGaps(line);
    return link;
  }

  /** Where the lines end. @throws CorruptLogError when positions are missing that no line names as pruned, and for no lines. */
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
      throw this.#corrupt(`position ${link.position} does not follow the one before it`);
    if (link.position !== end.position + 1) this.#jumps.push([end, link]);
    this.#end = link;
  }

  #noteGaps(line: Uint8Array): void {
    const decoded = decodeEntry(line, this.#sha256);
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
