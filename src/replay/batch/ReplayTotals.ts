import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import type { ReplayedRun, ReplayReport } from "./ReplayReport.ts";

/** Sums the results of replays. */
export class ReplayTotals {
  readonly #isLive: boolean;
  readonly #divergences = new Map<string, { readonly nodeId: string; readonly what: string; count: number }>();
  #counts = { replayed: 0, matching: 0, diverged: 0, failed: 0, tokens: 0 };
  ended: ReplayReport["ended"];

  /** @param isLive - whether model requests cost tokens */
  constructor(isLive: boolean) {
    this.#isLive = isLive;
  }

  get tokens(): number {
    return this.#counts.tokens;
  }

  add({ result }: ReplayedRun): void {
    const counts = this.#counts;
    this.#counts = {
      replayed: counts.replayed + 1,
      matching: counts.matching + Number(result?.matches === true),
      diverged: counts.diverged + Number(result?.matches === false),
      failed: counts.failed + Number(result === undefined),
      tokens: counts.tokens + (this.#isLive ? tokensOf(result) : 0),
    };
    if (result?.divergence) this.#addDivergence(result.divergence);
  }

  get report(): ReplayReport {
    const divergences = [...this.#divergences.values()].toSorted((one, other) => other.count - one.count);
    return withoutUndefined({
      ...this.#counts,
      divergences: divergences.map((each) => ({ ...each })),
      ended: this.ended,
    });
  }

  #addDivergence({ nodeId, what }: { readonly nodeId: string; readonly what: string }): void {
    const key = JSON.stringify([nodeId, what]);
    const known = this.#divergences.get(key) ?? { nodeId, what, count: 0 };
    known.count++;
    this.#divergences.set(key, known);
  }
}

function tokensOf(result: ReplayedRun["result"]): number {
  const requests = result?.trace?.visits.flatMap((visit) => visit.requests) ?? [];
  return requests.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0);
}
