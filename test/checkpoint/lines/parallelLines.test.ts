import { expect, it } from "vitest";
import { mutants, Simulation, type Variant, variants } from "./model/Simulation.ts";
import { cases } from "../../soak/cases.ts";

/** Programs with crashes and rollbacks at random. @returns what happened in all of them, and the first that went wrong. */
function simulated(variant: Variant, programs: number, first = 1) {
  const sum = { crashes: 0, rollbacks: 0, within: 0, joins: 0 };
  for (let seed = first; seed < first + programs; seed++) {
    try {
      const simulation = new Simulation(seed, variant);
      simulation.run();
      for (const [name, count] of Object.entries(simulation.counts)) sum[name as keyof typeof sum] += count;
    } catch (error) {
      return { sum, wrong: { seed, error } };
    }
  }
  return { sum, wrong: undefined };
}

const programs = cases(20, 2_000);

it.each(variants)(
  "random programs with nested lines keep output and effects through crashes and rollbacks: %s",
  (variant) => {
    const { sum, wrong } = simulated(variant, programs);
    expect(wrong).toBeUndefined();
    for (const count of Object.values(sum)) expect(count).toBeGreaterThan(programs / 2);
  },
);

/** Few programs show some mistakes. This one shows most of them, so that the search is short. */
const telling = 338;

it.each(mutants)("a log that is written or read incorrectly is detected: %s", (mutant) => {
  expect(simulated(mutant, 500, telling).wrong).toBeDefined();
});
