import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { CrashModel, CrashOptions } from "./CrashModel.ts";
import type { Mutation } from "./MutationTrace.ts";
import { type Fill, sectorsOf, type WriteOutcome } from "./FileContent.ts";

/** The fates of all mutations that were not durable when power was lost. */
export interface PowerLoss {
  readonly model: Exclude<CrashModel, "kill">;
  /** In the order of the mutations. */
  readonly fates: readonly WriteOutcome[];
}

const defaults = {
  models: ["amnesia", "metadata first", "data first", "weak"],
  exhaustiveUpTo: 80,
  samples: 40,
  seed: 1,
} as const;

/** What a loss of power may leave of mutations that were not durable. */
export function* powerLossOutcomes(mutations: readonly Mutation[], options: CrashOptions): Generator<PowerLoss> {
  const { models, exhaustiveUpTo, samples, seed } = { ...defaults, ...withoutUndefined(options) };
  const isWrite = ({ kind }: Mutation) => kind === "write";
  if (models.includes("amnesia")) yield { model: "amnesia", fates: mutations.map(() => "lost") };
  if (mutations.length === 0) return;
  if (models.includes("metadata first")) {
    const dataFates: readonly ((write: Mutation) => WriteOutcome)[] = [
      () => "lost",
      filledWith("zeros"),
      filledWith("stale"),
    ];
    for (const fate of mutations.some(isWrite) ? dataFates : dataFates.slice(0, 1))
      yield { model: "metadata first", fates: mutations.map((one) => (isWrite(one) ? fate(one) : "kept")) };
  }
  if (models.includes("data first"))
    yield { model: "data first", fates: mutations.map((one) => (isWrite(one) ? "kept" : "lost")) };
  if (!models.includes("weak")) return;
  for (const fates of adversarialOutcomes(mutations, { exhaustiveUpTo, samples, seed })) yield { model: "weak", fates };
}

/** The file has its length and none of its data. */
function filledWith(fill: Fill): (write: Mutation) => WriteOutcome {
  return (write) =>
    write.kind === "write"
      ? { kept: Array.from({ length: sectorsOf(write.offset, write.bytes.length) }, () => false), fill }
      : "kept";
}

const fills: readonly Fill[] = ["zeros", "stale", "nothing"];
/** How likely a sample keeps each part: few, half or nearly all. */
const likelihoods = [0.1, 0.5, 0.9];

/** Every other sample looks at the last of them alone: what is old is mostly on the device. */
const recent = 8;

/** Says of part after part whether it reached the device. */
type Choose = () => boolean;

/** Fates in which any part of some mutations reached the device: all there are when few, else samples. */
export function* adversarialOutcomes(
  mutations: readonly Mutation[],
  { exhaustiveUpTo, samples, seed }: { exhaustiveUpTo: number; samples: number; seed: number },
): Generator<readonly WriteOutcome[]> {
  const parts = mutations.reduce((total, mutation) => total + partsOf(mutation), 0);
  const variants = mutations.some(({ kind }) => kind === "write") ? fills : fills.slice(0, 1);
  if (parts < 20 && 2 ** parts * variants.length <= exhaustiveUpTo) {
    for (let mask = 0; mask < 2 ** parts; mask++)
      for (const fill of variants) yield fatesOf(mutations, bitsOf(mask), fill);
    return;
  }
  const random = seededNumbers(seed);
  for (let sample = 0; sample < samples; sample++) {
    const likelihood = likelihoods[sample % likelihoods.length] ?? 0.5;
    const fill = fills[Math.floor(random() * fills.length)] ?? "zeros";
    const old = sample % 2 === 0 ? 0 : Math.max(0, mutations.length - recent);
    const fates = fatesOf(mutations.slice(old), () => random() < likelihood, fill);
    yield [...Array.from({ length: old }, (): WriteOutcome => "kept"), ...fates];
  }
}

function partsOf(mutation: Mutation): number {
  return mutation.kind === "write" ? sectorsOf(mutation.offset, mutation.bytes.length) : 1;
}

function fatesOf(mutations: readonly Mutation[], choose: Choose, fill: Fill): WriteOutcome[] {
  return mutations.map((mutation) => {
    const kept = Array.from({ length: partsOf(mutation) }, choose);
    if (kept.every(Boolean)) return "kept";
    return mutation.kind === "write" ? { kept, fill } : "lost";
  });
}

function bitsOf(mask: number): Choose {
  let at = 0;
  return () => ((mask >> at++) & 1) === 1;
}

/** Numbers from 0 to below 1, always the same for one seed (mulberry32). */
export function seededNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
