import { nextTurn } from "../../internal/nextTurn.ts";

/** Work in steps of a few milliseconds, followed by a result. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** The time after which the event loop gets a turn. */
const longestTurnMs = 10;

/** Runs all steps. Gives other work of the process a turn after every {@link longestTurnMs}. */
export async function inTurns<Result>(steps: Steps<Result>): Promise<Result> {
  for (let began = performance.now(); ;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() - began < longestTurnMs) continue;
    await nextTurn();
    began = performance.now();
  }
}
