import type { Entry } from "../../checkpoint/records/Entry.ts";
import type { SealChange } from "../../errors/sealErrors.ts";
import { fromBase64Url } from "../../internal/bytes.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import {
  coveredBy,
  firstOf,
  positionOf,
  type Seal,
  sealHash,
  signedBytes,
  appendDigest,
  withoutSeal,
  type KeptSeal,
  type Verify,
} from "./Seal.ts";

interface SealCheckOptions {
  readonly agentId: string;
  readonly sha256: Sha256;
  readonly verify: Verify;
  /** The first position to compare. Defaults to the start of the log. */
  readonly from?: number | undefined;
  /** The newest seal that was kept outside the storage. */
  readonly kept?: KeptSeal | undefined;
}

export interface SealCheck {
  /** The differences between the log and its seals, in the order of the log. */
  readonly changes: readonly SealChange[];
  /** The newest valid seal. `undefined` if the appends contain none. */
  readonly newest: TrustedSeal | undefined;
  /** The appends after the newest valid seal. */
  readonly tail: readonly SealedAppend[];
}

interface TrustedSeal {
  readonly seal: Seal;
  readonly hash: string;
}

/** Compares the appends of a log, oldest first, with their seals. */
export async function checkSeals(appends: readonly SealedAppend[], options: SealCheckOptions): Promise<SealCheck> {
  const { from = 0, kept } = options;
  const trusted = await TrustedSeals.of(appends, options);
  const [newest] = trusted.seals;
  const sealedAt = newest ? appends.findLastIndex(({ seal }) => seal === newest.seal) : -1;
  const tail = appends.slice(sealedAt + 1);
  const changes = newest
    ? changesIn(appends, trusted, from, sealedAt)
    : from === 0 && appends.length > 0
      ? [unsealed(trusted.invalid[0] ?? (appends[0] as SealedAppend).position)]
      : [];
  const all = [...changes, ...keptChanges(appends.at(-1)?.position ?? 0, trusted, kept)];
  return { changes: all.sort((a, b) => a.position - b.position), newest, tail };
}

function changesIn(
  appends: readonly SealedAppend[],
  { seals, missing, invalid, isComplete }: TrustedSeals,
  from: number,
  sealedAt: number,
): SealChange[] {
  const start = isComplete ? undefined : appends[0]?.position;
  const expected = expectedAppends(seals, start).filter(({ position }) => position >= from);
  const changes = [...compareDigests(expected, appends.slice(0, sealedAt + 1))];
  const sealed = new Set(expected.map(({ digest }) => digest));
  const tail = appends.slice(sealedAt + 1);
  for (const { position, digest } of tail) if (sealed.has(digest)) changes.push({ kind: "inserted", position });
  const late = tail[(seals[0]?.seal.every ?? 1) - 1];
  const positions = new Set([...missing, ...invalid, ...(late ? [late.position] : [])]);
  const named = new Set(changes.map(({ position }) => position));
  return [...changes, ...[...positions].filter((position) => !named.has(position)).map(unsealed)];
}

/** @param start - the first position of a log whose first seal is missing. */
function expectedAppends(seals: readonly TrustedSeal[], start: number | undefined): readonly ExpectedAppend[] {
  const expected: ExpectedAppend[] = [];
  let end = start === undefined ? undefined : start - 1;
  for (const { seal } of [...seals].reverse()) {
    for (let position = (end ?? Infinity) + 1; position < firstOf(seal); position++)
      expected.push({ position, digest: undefined });
    for (const [position, digest] of coveredBy(seal)) expected.push({ position, digest });
    end = positionOf(seal);
  }
  return expected;
}

/** The valid seals of a log, newest first. Earlier seals than one of the whole log do not count. */
class TrustedSeals {
  /** The seals, newest first. Each seal is signed, or the next newer seal contains its hash. */
  readonly seals: TrustedSeal[] = [];
  /** Positions of appends whose seal is missing. */
  readonly missing: number[] = [];
  /** Positions of invalid seals after the newest valid seal. */
  readonly invalid: number[] = [];
  /** Whether the seals reach the start of the log, or the first position to compare. */
  isComplete = false;
  readonly #options: SealCheckOptions;

  constructor(options: SealCheckOptions) {
    this.#options = options;
  }

  static async of(appends: readonly SealedAppend[], options: SealCheckOptions): Promise<TrustedSeals> {
    const trusted = new TrustedSeals(options);
    for (const { seal, position } of newestFirst(appends))
      if (!trusted.isComplete) await trusted.#accept(seal, position);
    const oldest = trusted.seals.at(-1)?.seal;
    if (oldest && !trusted.isComplete) trusted.missing.push(firstOf(oldest) - 1);
    return trusted;
  }

  async #accept(seal: Seal, position: number): Promise<void> {
    const { agentId, sha256, from = 0 } = this.#options;
    const newer = this.seals.at(-1)?.seal;
    const hash = sealHash(sha256, agentId, seal);
    const isLinked = newer?.prev === hash;
    if (isLinked || (await isSigned(seal, newer, this.#options))) {
      if (newer && !isLinked) this.missing.push(firstOf(newer) - 1);
      this.seals.push({ seal, hash });
      this.isComplete = seal.whole || firstOf(seal) <= from;
    } else if (!newer) this.invalid.push(position);
  }
}

/** Returns the appends by the position in their seal, because an attacker can store such an append again. */
function newestFirst(appends: readonly SealedAppend[]): (SealedAppend & { readonly seal: Seal })[] {
  const hasSeal = (append: SealedAppend): append is SealedAppend & { readonly seal: Seal } => append.seal !== undefined;
  return appends.filter(hasSeal).sort((a, b) => positionOf(b.seal) - positionOf(a.seal));
}

async function isSigned(seal: Seal, newer: Seal | undefined, { agentId, verify }: SealCheckOptions): Promise<boolean> {
  if (newer && positionOf(seal) >= firstOf(newer)) return false;
  const signature = fromBase64Url(seal.signature);
  return signature !== undefined && (await verify(signedBytes(agentId, seal), signature));
}

/** @param end - the position of the last append. */
function keptChanges(end: number, { seals }: TrustedSeals, kept: KeptSeal | undefined): readonly SealChange[] {
  if (!kept || isReplaced(seals, kept)) return [];
  const { dropping, dropped } = kept;
  if (end === 0 && (dropped ?? dropping)) return [];
  if (dropped) return end <= kept.position ? [{ kind: "inserted", position: end }] : [];
  if (end < kept.position) return [{ kind: "truncated", position: end + 1 }];
  const isKnown = seals.length === 0 || seals.some(({ hash }) => hash === kept.hash);
  return isKnown ? [] : [{ kind: "truncated", position: kept.position }];
}

/** Whether a later seal of the whole log replaces the kept seal. An import can lower its position. */
function isReplaced(seals: readonly TrustedSeal[], { generation, position }: KeptSeal): boolean {
  const oldest = seals.at(-1)?.seal;
  if (!oldest?.whole) return false;
  return oldest.generation > generation || (oldest.generation === generation && positionOf(oldest) > position);
}

function unsealed(position: number): SealChange {
  return { kind: "unsealed", position };
}

/** An append of a log, with the seal that it contains. */
export interface SealedAppend extends FoundAppend {
  readonly seal: Seal | undefined;
}

/** Separates the appends of a log from their seals while the log is read, and keeps the digests of the appends. */
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

/** An append that a seal covers. The digest is `undefined` if the seal that contained it is missing. */
interface ExpectedAppend {
  readonly position: number;
  readonly digest: string | undefined;
}

export interface FoundAppend {
  readonly position: number;
  readonly digest: string;
}

interface Known {
  readonly expected: ReadonlySet<string | undefined>;
  readonly found: ReadonlySet<string>;
}

/** How many expected and how many found appends a step uses, and the change that the step reports. */
interface Step {
  readonly expected: number;
  readonly found: number;
  readonly changes?: readonly SealChange[];
}

/** Aligns the appends of a log with the sealed appends, both in log order, and names each difference. */
function compareDigests(expected: readonly ExpectedAppend[], found: readonly FoundAppend[]): readonly SealChange[] {
  const known = { expected: new Set(expected.map(digestOf)), found: new Set(found.map(({ digest }) => digest)) };
  const changes: SealChange[] = [];
  for (let [at, met] = [0, 0]; at < expected.length || met < found.length;) {
    const step = stepAt(known, expected.slice(at, at + 2), found.slice(met, met + 2));
    changes.push(...(step.changes ?? []));
    at += step.expected;
    met += step.found;
  }
  if (changes.length > 0) return changes;
  const moved = found.find(({ position }, at) => position !== expected[at]?.position);
  return moved ? [{ kind: "edited", position: moved.position }] : [];
}

function stepAt(known: Known, [next, later]: readonly ExpectedAppend[], [met, behind]: readonly FoundAppend[]): Step {
  if (!next) return step("inserted", met, 0, 1);
  if (!met) return step("removed", next, 1, 0);
  const isKnown = known.expected.has(met.digest);
  if (next.digest === met.digest || (next.digest === undefined && !isKnown)) return { expected: 1, found: 1 };
  const isGone = next.digest === undefined || !known.found.has(next.digest);
  if (isGone) return isKnown ? step("removed", next, 1, 0) : step("edited", met, 1, 1);
  if (!isKnown) return step("inserted", met, 0, 1);
  return stepAmongKnown(next, later, met, behind);
}

function stepAmongKnown(
  next: ExpectedAppend,
  later: ExpectedAppend | undefined,
  met: FoundAppend,
  behind: FoundAppend | undefined,
): Step {
  const isNextBehind = behind?.digest === next.digest;
  const isMetLater = later?.digest === met.digest;
  if (isNextBehind && isMetLater && behind)
    return { expected: 2, found: 2, changes: [change("reordered", met), change("reordered", behind)] };
  if (isNextBehind) return step("inserted", met, 0, 1);
  if (isMetLater) return step("removed", next, 1, 0);
  return step("reordered", met, 1, 1);
}

function step(
  kind: SealChange["kind"],
  place: { readonly position: number } | undefined,
  expected: number,
  found: number,
): Step {
  return { expected, found, changes: place ? [change(kind, place)] : [] };
}

function change(kind: SealChange["kind"], { position }: { readonly position: number }): SealChange {
  return { kind, position };
}

function digestOf({ digest }: ExpectedAppend): string | undefined {
  return digest;
}
