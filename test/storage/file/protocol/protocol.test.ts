import { describe, expect, it } from "vitest";
import { explore } from "./exploreProtocol.ts";
import { design, type Protocol } from "./protocol.model.ts";
import { cases, soak } from "../../../soak/cases.ts";

const one = ["r0"];
const four = ["r0", "r1", "r2", "r3"];

const sound: readonly (readonly [string, string, readonly string[], Partial<Protocol>])[] = [
  ["take-over by two others, sizes in between", "ABC", four, { smallSegment: 3 }],
  ["the same when the first sync lies", "ABC", four, { smallSegment: 3, firstSyncLies: true }],
  ["compaction by all, two appends", "AB", four, { compaction: "link", appends: 2 }],
  ["compaction by all, two appends, small segments", "AB", one, { compaction: "link", appends: 2, smallSegment: 3 }],
];

/** Of a soak: the largest last. */
const large: typeof sound = [
  ["take-over by two others, large segments listed", "ABC", four, {}],
  ["take-over by two others, small segments carried", "ABC", one, { smallSegment: 3 }],
  ["two appends each, large segments", "ABC", one, { appends: 2, closing: false }],
  ["compaction by three, sizes in between", "ABC", four, { compaction: "link", smallSegment: 3, closing: false }],
  ["compaction by three, small segments", "ABC", one, { compaction: "link", smallSegment: 2 }],
  ["two appends each, sizes in between", "ABC", four, { appends: 2, smallSegment: 3 }],
];

const compacting: Partial<Protocol> = { compaction: "link", closing: false };
const broken: readonly (readonly [string, string, Partial<Protocol>])[] = [
  ["an opening with the claim before the log is closed", "AB", { opening: "with every claim" }],
  ["no check before acknowledging", "AB", { checkBeforeAcknowledging: "none" }],
  ["a check for the next number only", "AB", { ...compacting, checkBeforeAcknowledging: "next number only" }],
  ["the last line listed instead of copied", "AB", { lastLine: "listed" }],
  [
    "the last line listed after a sync with a false success",
    "AB",
    { lastLine: "listed after a sync", firstSyncLies: true },
  ],
  ["the directory synced after the first line", "ABC", { folderSync: "after the first line" }],
  ["the directory never synced", "AB", { folderSync: "never" }],
  ["state.json ahead of the log", "AB", { summary: "before the sync" }],
  ["compaction by rename", "AB", { compaction: "rename" }],
  ["compaction in place", "AB", { compaction: "in place" }],
  ["the time in the name", "AB", { ...compacting, names: "generation and time" }],
  ["an open that names only the previous segment", "ABC", { bases: "only the one before" }],
  ["no check before removing copied segments", "ABC", { checkBeforeRemoving: "not when carrying", smallSegment: 2 }],
  [
    "removal of copied segments before the open is synced",
    "AB",
    { removing: "before the open is synced", smallSegment: 9 },
  ],
  ["no check before removing compacted segments", "ABC", { ...compacting, checkBeforeRemoving: "not when compacting" }],
];

describe("the file protocol in every order of steps and after every power loss", () => {
  it.each([...sound, ...large.slice(0, cases(0, large.length))])(
    "loses no acknowledged append: %s",
    (_name, letters, existing, variant) => {
      const { bad, example, states } = explore(letters, existing, { ...design, ...variant });
      expect({ bad, example }).toEqual({ bad: 0, example: undefined });
      expect(states).toBeGreaterThan(1000);
    },
    cases(60_000, 3_600_000),
  );

  // The last one takes the longest to find.
  it.each(soak ? broken : broken.slice(0, -1))("violates its guarantees with %s", (_name, letters, variant) => {
    expect(explore(letters, one, { ...design, ...variant }, true).bad).toBeGreaterThan(0);
  });
});
