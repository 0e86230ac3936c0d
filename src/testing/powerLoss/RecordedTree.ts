import { integerFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { type FileTree, type Fill, sectorsOf, type WriteOutcome, type Mutation, MutationTrace } from "./FileTree.ts";
import { z } from "zod";

/** Files and directories, with all mutations since the device was last at rest. */
export class RecordedTree {
  readonly tree: FileTree;
  readonly #atRest: FileTree;
  readonly #trace = new MutationTrace();

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

  /** Yields the possible states after a crash. @param started - returns the restarted form of a state. */
  *crashes<Started>(after: number, options: CrashOptions, started: (tree: RecordedTree) => Started) {
    const mutations = this.#trace.first(after);
    if (options.models?.includes("kill") ?? true) {
      const description = `kill after ${after} changes`;
      yield { model: "kill" as const, after, description, restart: () => started(this.#upTo(mutations)) };
    }
    const undurable = this.#trace.undurable(after);
    const open = undurable.map((at) => mutations[at] as Mutation);
    const seed = (options.seed ?? 1) * 1_000_003 + after;
    for (const { model, fates } of powerLossOutcomes(open, { ...options, seed })) {
      yield {
        model,
        after,
        get description() {
          return `${model} after ${after} changes, without ${describeLoss(open, fates)}`;
        },
        restart: () => {
          const tree = this.#atRest.copy();
          const fateOf = new Map(undurable.map((at, index) => [at, fates[index] ?? "kept"]));
          for (const [at, mutation] of mutations.entries()) tree.apply(mutation, fateOf.get(at) ?? "kept");
          return started(new RecordedTree(tree));
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

/** Describes the undone mutations for people, including the stored sectors of writes. */
function describeLoss(mutations: readonly Mutation[], fates: readonly WriteOutcome[]): string {
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

/** Yields the possible outcomes of mutations that were not durable, in order. */
function* powerLossOutcomes(
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

/** Returns how a write survived if the file has its full length but no data. */
function filledWith(fill: Fill): (write: Mutation) => WriteOutcome {
  return (write) =>
    write.kind === "write"
      ? { kept: Array.from({ length: sectorsOf(write.offset, write.bytes.length) }, () => false), fill }
      : "kept";
}

const fills: readonly Fill[] = ["zeros", "stale", "nothing"];
/** The probabilities with which a sample keeps each part. */
const likelihoods = [0.1, 0.5, 0.9];

/** In every other sample, only this many of the newest mutations vary, because older mutations are usually durable. */
const recent = 8;

/** Decides whether the next part reached the device. */
type Choose = () => boolean;

/** Yields outcomes with any combination of stored parts, or samples if there are many. */
function* adversarialOutcomes(
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
 * A model of a crash.
 *
 * - `kill`: the process exits. All data is kept, but unsynced data can still be lost later.
 * - `amnesia`: power loss that keeps only synced data.
 * - `metadata first`: power loss that keeps all names. Unsynced data is missing, zeros or older data of the device.
 * - `data first`: power loss that keeps all data but loses unsynced names.
 * - `weak`: power loss that keeps any part of the unsynced changes. Writes are split into sectors of 512 bytes.
 */
export type CrashModel = "kill" | "amnesia" | "metadata first" | "data first" | "weak";

/** Selects the crash states. */
export interface CrashOptions {
  readonly models?: readonly CrashModel[] | undefined;
  /** The maximum number of combinations for which `weak` yields all. Defaults to 80. */
  readonly exhaustiveUpTo?: number | undefined;
  /** The number of random combinations, if there are too many to try all. Defaults to 40. */
  readonly samples?: number | undefined;
  /** The seed of random choices, combined with the position of the crash. Defaults to 1. */
  readonly seed?: number | undefined;
}

export const crashOptionsSchema: z.ZodType<CrashOptions> = strictOptions(() => ({
  models: z.array(z.enum(["kill", "amnesia", "metadata first", "data first", "weak"])).optional(),
  exhaustiveUpTo: integerFrom(0).optional(),
  samples: integerFrom(0).optional(),
  seed: z.number().optional(),
}));

/** Returns a generator of reproducible numbers from 0 to below 1 (mulberry32). */
export function seededNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
