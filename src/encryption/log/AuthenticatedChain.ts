import { type ChainLink, EntryChain } from "../../checkpoint/format/EntryChain.ts";
import { type Entry, type PrunedGap, prunedGapsOf } from "../../checkpoint/records/Entry.ts";
import { AuthenticationFailedError } from "../../errors/encryptionErrors.ts";
import type { ReadOptions } from "../../storage/RecordLog.ts";

type Link = ChainLink & { readonly prev: string };

interface Jump {
  /** `undefined` checksum if the read started in the middle of the log. */
  readonly from: { readonly position: number; readonly checksum: string | undefined };
  readonly to: Link;
}

/**
 * Verifies that a storage has omitted no append. A storage can skip appends that a `pruned` record names, and anyone
 * who can write the storage could add a `pruned` record. So only decrypted records count here.
 */
export class AuthenticatedChain {
  readonly #agentId: string;
  readonly #after: number;
  readonly #gaps: PrunedGap[] = [];
  readonly #jumps: Jump[] = [];
  readonly #sinceSnapshot: boolean;
  #end: ChainLink | undefined;

  constructor(agentId: string, { after = 0, sinceSnapshot = false }: ReadOptions = {}) {
    this.#agentId = agentId;
    this.#after = after;
    this.#sinceSnapshot = sinceSnapshot;
  }

  get end(): ChainLink | undefined {
    return this.#end;
  }

  /** Whether a gap was found that no decrypted record explains. */
  get hasUnexplainedGap(): boolean {
    return this.#jumps.some((jump) => !this.#explains(jump));
  }

  /** @throws AuthenticationFailedError if the append does not follow the previous one. */
  accept(entry: Entry, isSnapshot: boolean): void {
    const end = this.#end;
    this.#end = { position: entry.position, checksum: entry.checksum };
    this.note(entry);
    if (end === undefined) return this.#begin(entry, isSnapshot);
    if (entry.position !== end.position + 1) this.#jumps.push({ from: end, to: entry });
    else if (entry.prev !== end.checksum) throw this.#failed(entry.position, "it does not follow the append before it");
  }

  /** Notes the gaps that a decrypted append explains. */
  note({ records }: Pick<Entry, "records">): void {
    this.#gaps.push(...prunedGapsOf(records));
  }

  /** @throws AuthenticationFailedError if appends are missing. */
  assertWhole(): void {
    const missing = this.#jumps.find((jump) => !this.#explains(jump));
    if (missing) throw this.#failed(missing.to.position, "the appends before it are missing");
  }

  #begin(entry: Entry, isSnapshot: boolean): void {
    const { position, prev } = entry;
    if (prev === "" || (isSnapshot && this.#sinceSnapshot)) return;
    if (position === this.#after + 1 && this.#after > 0) return;
    const checksum = this.#after === 0 ? "" : undefined;
    this.#jumps.push({ from: { position: this.#after, checksum }, to: entry });
  }

  #explains({ from, to }: Jump): boolean {
    if (from.checksum === undefined || from.position === 0) return this.#leadsFrom(from.position, to);
    const chain = new EntryChain(this.#gaps, { position: from.position, checksum: from.checksum });
    return chain.accept(to) === undefined;
  }

  /** Whether consecutive gaps cover all positions after `position` up to an append. */
  #leadsFrom(position: number, { position: next, prev }: Pick<Link, "position" | "prev">): boolean {
    const ending = this.#gaps.filter(({ first, last, after }) => first <= last && last === next - 1 && after === prev);
    return ending.some(
      ({ first, before }) => first <= position + 1 || this.#leadsFrom(position, { position: first, prev: before }),
    );
  }

  #failed(position: number, found: string): AuthenticationFailedError {
    return new AuthenticationFailedError(this.#agentId, position, found);
  }
}
