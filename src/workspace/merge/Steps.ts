import { Slice } from "../files/Slice.ts";

/** Work in steps of a few milliseconds, followed by a result. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Runs all steps. Gives other work of the process a turn after each slice of a few milliseconds. */
export async function inTurns<Result>(steps: Steps<Result>): Promise<Result> {
  for (const slice = new Slice(); ;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (slice.isOver) await slice.turn();
  }
}
