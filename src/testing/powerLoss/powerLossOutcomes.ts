import type { CrashModel, CrashOptions } from "./CrashModel.ts";
import { type WriteOutcome, type Fill, sectorsOf } from "./WriteOutcome.ts";
import type { Mutation } from "./Mutation.ts";
import { adversarialOutcomes } from "./adversarialOutcomes.ts";

/** The fates of all mutations that were not durable when power was lost. */
export interface PowerLoss {
  readonly model: Exclude<CrashModel, "kill">;
  /** In the order of the mutations. */
  readonly fates: readonly WriteOutcome[];
}

/** What a loss of power may leave of mutations that were not durable. */
export function* powerLossOutcomes(mutations: readonly Mutation[], options: CrashOptions): Generator<PowerLoss> {
  const { models = ["amnesia", "metadata first", "data first", "weak"] } = options;
  const { exhaustiveUpTo = 80, samples = 40, seed = 1 } = options;
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
