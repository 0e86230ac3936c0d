import { nextTurn } from "../../internal/nextTurn.ts";

/** Work that is cut into steps of at most a few milliseconds, and then gives a result. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** How long the event loop is held at a stretch, apart from the last step. */
const longestTurnMs = 10;

/** Carries out all steps. Other work of the process comes in between from the first {@link longestTurnMs} on. */
export async function inTurns<Result>(steps: Steps<Result>): Promise<Result> {
  for (let began = performance.now(); ;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() - began < longestTurnMs) continue;
    await nextTurn();
    began = performance.now();
  }
}
