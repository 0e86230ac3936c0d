import { SimulatedFileSystem } from "agent-persistence/testing";
import { Crashes, type Thoroughness } from "../Crashes.ts";
import { exploreStore } from "./exploreStore.ts";
import { Stage, type Variant } from "./Stage.ts";
import type { StoreScenario } from "./storeScenarios.ts";
import { Violation } from "../Violation.ts";

/**
 * What is noticed first of a storage that is broken, in any of the scenarios; `undefined` when nothing is.
 *
 * @param nestedMoments how often power is lost in the middle of a recovery, besides at its end.
 */
export async function caughtInCrashes(
  variant: Variant,
  scenarios: readonly StoreScenario[],
  nestedMoments = 2,
): Promise<Violation | undefined> {
  const thoroughness: Thoroughness = { samples: 8, nestEvery: 1, nestedMoments, seed: 1 };
  return violationOf(async () => {
    for (const { play } of scenarios) {
      const stage = new Stage(new SimulatedFileSystem(), variant);
      await play(stage);
      await exploreStore(stage, new Crashes(thoroughness));
    }
  });
}

export async function violationOf(action: () => Promise<unknown>): Promise<Violation | undefined> {
  try {
    await action();
    return undefined;
  } catch (error) {
    if (error instanceof Violation) return error;
    throw error;
  }
}
