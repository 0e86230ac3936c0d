import { expect, it, vi } from "vitest";
import type * as carryOver from "../../src/storage/file/own/copyTail.ts";
import { caughtInCrashes } from "./caught.ts";
import { storeScenarios } from "./storeScenarios.ts";

type CarryOver = typeof carryOver;

/** The last line of an owner that died is referred to instead of copied: it may never have been synced. */
vi.mock("../../src/storage/file/own/copyTail.ts", async (original) => {
  const real = await original<CarryOver>();
  const takeOver: CarryOver["takeOver"] = (image, last) => {
    const { newest, dropped } = image;
    if (newest?.open === undefined || dropped !== undefined || last === undefined) return real.takeOver(image, last);
    return { from: image.from, base: [...newest.open.base, [newest.generation, last.end + 1]], carry: [] };
  };
  return { ...real, takeOver, segmentsToCarry: () => [] } satisfies CarryOver;
});

// An owner that appends nothing would not know where its log ends: so no recovery is cut short before it appends.
it("a protocol that is broken on purpose is caught: the last line is listed instead of carried over", async () => {
  const scenarios = storeScenarios.filter(({ name }) => name === "appends of several sizes");
  const violation = await caughtInCrashes({}, scenarios, 0);
  expect(violation?.message).toContain("bytes that count");
});
