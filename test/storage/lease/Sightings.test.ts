import { expect, it } from "vitest";
import { addFinished, longestLeaseMs, Sightings } from "../../../src/storage/lease/Sightings.ts";

const hour = 3_600_000;

it("the sightings of owners that nobody looks at any more are forgotten", () => {
  const sightings = new Sightings();
  const sizes: number[] = [];
  for (let at = 0; at < 10 * longestLeaseMs; at += hour) {
    sightings.unchangedForMs(`agent ${at}`, "1 0", at);
    sizes.push(sightings.size);
  }
  expect(Math.max(...sizes)).toBe((2 * longestLeaseMs) / hour);
});

it("an owner is unchanged for as long as somebody looks at it", () => {
  const sightings = new Sightings();
  expect(sightings.unchangedForMs("a", "1 0", 0)).toBeUndefined();
  for (let at = hour; at < 5 * longestLeaseMs; at += 20 * hour)
    expect(sightings.unchangedForMs("a", "1 0", at)).toBe(at);
  expect(sightings.unchangedForMs("a", "1 1", 5 * longestLeaseMs)).toBeUndefined();
  sightings.forget("a");
  expect(sightings.size).toBe(0);
});

it("the owners that failed to release their logs are limited", () => {
  const finished = new Set<string>();
  for (let n = 0; n < 30_000; n++) addFinished(finished, `${n}`);
  expect(finished.size).toBeLessThanOrEqual(10_000);
  expect(finished.has("21000")).toBe(true);
  expect(finished.has("29999")).toBe(true);
});
