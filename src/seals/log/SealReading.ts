import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { FoundAppend } from "./compareDigests.ts";
import { appendDigest, type Seal, withoutSeal } from "./Seal.ts";

/** An append of a log, with the seal that it contains. */
export interface SealedAppend extends FoundAppend {
  readonly seal: Seal | undefined;
}

/** Separates the appends of a log from their seals while they are read, and keeps their digests. */
export class SealReading {
  readonly appends: SealedAppend[] = [];
  readonly #sha256: Sha256;

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  /** Returns the append without its seal. */
  add(entry: Entry): Entry {
    const { position, generation, id } = entry;
    const { records, seal } = withoutSeal(entry.records);
    this.appends.push({ position, digest: appendDigest(this.#sha256, generation, id, JSON.stringify(records)), seal });
    return records === entry.records ? entry : { ...entry, records };
  }
}
