import { integerFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type Fill, sectorsOf, type WriteOutcome } from "./FileContent.ts";
import type { FileTree } from "./FileTree.ts";
import { type Mutation, MutationTrace } from "./MutationTrace.ts";
import { z } from "zod";
import { seededNumbers } from "./seededNumbers.ts";

/** A tree that a crash may leave. */
export interface CrashedTree {
  readonly model: CrashModel;
  readonly description: string;
  restart(): RecordedTree;
}

/** Files and folders, with all that was done to them since the device was last at rest. */
export class RecordedTree {
  readonly tree: FileTree;
  readonly #atRest: FileTree;
  readonly #trace = new MutationTrace();

  /** @param atRest what is on the device at the beginning. */
  constructor(atRest: FileTree) {
    this.#atRest = atRest;
    this.tree = atRest.copy();
  }

  get length(): number {
    return this.#trace.length;
  }

  do(mutation: Mutation): void {
    this.#trace.add(mutation);
    this.tree.apply(mutation, "kept");
  }

  /** What a crash may leave after the first mutations. */
  *crashes(after: number, options: CrashOptions): Generator<CrashedTree> {
    const mutations = this.#trace.first(after);
    if (options.models?.includes("kill") ?? true)
      yield { model: "kill", description: `kill after ${after} changes`, restart: () => this.#upTo(mutations) };
    const undurable = this.#trace.undurable(after);
    const open = undurable.map((at) => mutations[at] as Mutation);
    const seed = (options.seed ?? 1) * 1_000_003 + after;
    for (const { model, fates } of powerLossOutcomes(open, { ...options, seed })) {
      yield {
        model,
        get description() {
          return `${model} after ${after} changes, without ${describeLoss(open, fates)}`;
        },
        restart: () => {
          const tree = this.#atRest.copy();
          const fateOf = new Map(undurable.map((at, index) => [at, fates[index] ?? "kept"]));
          for (const [at, mutation] of mutations.entries()) tree.apply(mutation, fateOf.get(at) ?? "kept");
          return new RecordedTree(tree);
        },
      };
    }
  }

  #upTo(mutations: readonly Mutation[]): RecordedTree {
    const traced = new RecordedTree(this.#atRest);
    for (const mutation of mutations) traced.do(mutation);
    return traced;
  }
}

/** What a crash undid, for people: of a write also which sectors it kept, and what the others hold. */
export function describeLoss(mutations: readonly Mutation[], fates: readonly WriteOutcome[]): string {
  const undone = mutations.flatMap(({ kind, path }, index) => {
    const fate = fates[index] ?? "kept";
    if (fate === "kept") return [];
    return `${kind} ${path}${fate === "lost" ? "" : ` (${fate.kept.map(Number).join("")} ${fate.fill})`}`;
  });
  return undone.join(", ") || "nothing";
}

const defaults = {
  models: ["amnesia", "metadata first", "data first", "weak"],
  exhaustiveUpTo: 80,
  samples: 40,
  seed: 1,
} as const;

/** What a loss of power may leave of mutations that were not durable: the fate of each, in their order. */
export function* powerLossOutcomes(
  mutations: readonly Mutation[],
  options: CrashOptions,
): Generator<{ readonly model: CrashModel; readonly fates: readonly WriteOutcome[] }> {
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

/**
 * What a crash leaves.
 *
 * - `kill`: the process ended. Everything done is there, and what was not synced can still be lost later.
 * - `amnesia`: power was lost; only what was synced is there.
 * - `metadata first`: all names are there; data that was not synced is missing, zeros, or what the device held before.
 * - `data first`: all data is there; names that were not synced are not.
 * - `weak`: any part of what was not synced, in the order it was done; writes in sectors of 512 bytes.
 */
export type CrashModel = "kill" | "amnesia" | "metadata first" | "data first" | "weak";

/** Which crash states to make. */
export interface CrashOptions {
  /** Default: all. */
  readonly models?: readonly CrashModel[] | undefined;
  /** `weak` makes all combinations when they are no more than this many. Default 80. */
  readonly exhaustiveUpTo?: number | undefined;
  /** How many of them it makes otherwise, chosen at random. Default 40. */
  readonly samples?: number | undefined;
  /** What random choices follow from, together with the moment of the crash. Default 1. */
  readonly seed?: number | undefined;
}

export const crashOptionsSchema: z.ZodType<CrashOptions> = strictOptions({
  models: z.array(z.enum(["kill", "amnesia", "metadata first", "data first", "weak"])).optional(),
  exhaustiveUpTo: integerFrom(0).optional(),
  samples: integerFrom(0).optional(),
  seed: z.number().optional(),
});
