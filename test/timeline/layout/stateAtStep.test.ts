import { describe, expect, it } from "vitest";
import type { TimelineChanges, TimelineMessage } from "../../../src/timeline/data/TimelineData.ts";
import { shownItems } from "../../../src/timeline/layout/shownItems.ts";
import { stateAtStep, stepsByKey, stateDifference } from "../../../src/timeline/layout/stateAtStep.ts";
import { itemsOf, stepOf } from "../steps.ts";

const message = (number: number, before?: number): TimelineMessage => ({
  number,
  ...(before !== undefined && { before }),
  role: "user",
  parts: [{ type: "text", text: `message ${number}` }],
});
const changed = (word: string, changes: Partial<TimelineChanges>) =>
  stepOf(word, { changes: { messages: [], removed: [], storage: {}, files: [], ...changes } });

const items = [
  changed("a", { messages: [message(1), message(2)], storage: { color: "red", size: "XL" }, input: "in a" }),
  changed("b<a", { messages: [message(3)], storage: { color: null }, settings: "model b" }),
  changed("c<b", {
    removed: [[1, 2]],
    messages: [message(4, 3)],
    files: [{ path: "x", change: "modified", before: "1", after: "2" }],
  }),
  changed("d<a", { storage: { size: "S" }, input: "in d" }),
];
const steps = stepsByKey(items);
const at = (key: string) => stateAtStep(steps.get(key) ?? stepOf("none"), steps);

describe("the state at a step", () => {
  it("contains the changes of its ancestors and of no other steps", () => {
    expect(at("b").messages.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(Object.fromEntries(at("b").storage)).toEqual({ size: "XL" });
    expect(at("b")).toMatchObject({ input: "in a", settings: "model b", added: new Set([3]) });
    expect(at("d").messages).toHaveLength(2);
  });

  it("omits removed messages and has inserted ones in their position", () => {
    expect(at("c").messages.map(({ number }) => number)).toEqual([4, 3]);
  });

  it("begins with messages that were inserted before a message that the page omits", () => {
    const first = changed("a", { messages: [message(7), message(8, 2), message(9, 2)] });
    expect(stateAtStep(first, stepsByKey([first])).messages.map(({ number }) => number)).toEqual([8, 9, 7]);
  });
});

describe("the difference between two steps", () => {
  it("lists messages, values and files of both sides", () => {
    const { same, removed, added, values, files } = stateDifference(at("d"), at("c"));
    expect([same, removed.length, added.length]).toEqual([0, 2, 2]);
    expect(Object.fromEntries(values)).toEqual({
      Input: ["in d", "in a"],
      Settings: ["", "model b"],
      "Storage: color": ["red", undefined],
      "Storage: size": ["S", "XL"],
    });
    expect(files).toEqual([{ path: "x", change: "modified", before: "1", after: "2" }]);
    expect(stateDifference(at("c"), at("c"))).toMatchObject({ same: 2, removed: [], added: [], files: [] });
  });
});

describe("a filter", () => {
  const everything = { text: "", states: new Set<never>(), tool: "" };

  it("without criteria keeps all steps", () => {
    expect(shownItems(items, everything)).toBe(items);
  });

  it("finds text in any part and connects matches to their nearest matching ancestor", () => {
    expect(shownItems(items, { ...everything, text: "MESSAGE 4" }).map(({ key }) => key)).toEqual(["c"]);
    const chain = itemsOf("a", "hidden<a", "ab<hidden");
    expect(shownItems(chain, { ...everything, text: "node a" })).toMatchObject([
      { key: "a" },
      { key: "ab", parent: "a" },
    ]);
  });

  it("ends if a forged step is its own ancestor", () => {
    const forged = itemsOf("loop<loop", "ab<loop");
    const [found, ...others] = shownItems(forged, { ...everything, text: "node a" });
    expect([found?.key, others.length]).toEqual(["ab", 0]);
    expect(found).not.toHaveProperty("parent");
  });
});
