import { expect, it, vi } from "vitest";
import type * as copyTailModule from "../../../src/storage/file/copyTail.ts";
import { caughtInCrashes } from "./caught.ts";
import { storeScenarios } from "./storeScenarios.ts";

type CopyTailModule = typeof copyTailModule;

/** The last line of an owner that died is referred to instead of copied: it may never have been synced. */
vi.mock("../../../src/storage/file/copyTail.ts", async (original) => {
  const real = await original<CopyTailModule>();
  const copyTail: CopyTailModule["copyTail"] = (image, last) => {
    const { newest, dropped } = image;
    if (newest?.open === undefined || dropped !== undefined || last === undefined) return real.copyTail(image, last);
    return { from: image.from, base: [...newest.open.base, [newest.generation, last.end + 1]], carry: [] };
  };
  return { ...real, copyTail, segmentsToCarry: () => [] } satisfies CopyTailModule;
});

// An owner that appends nothing would not know where its log ends, so every recovery runs until it appends.
it("the crash tests detect a protocol that lists the last line of a dead owner instead of copying it", async () => {
  const scenarios = storeScenarios.filter(({ name }) => name === "appends of several sizes");
  const violation = await caughtInCrashes({}, scenarios, 0);
  expect(violation?.message).toContain("shorter than its recorded");
});
