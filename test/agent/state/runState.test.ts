import { describe, expect, it } from "vitest";
import { z } from "zod";
import { RunState } from "../../../src/agent/state/RunState.ts";
import { storageKey } from "../../../src/agent/context/StorageKey.ts";
import { TypedStorage } from "../../../src/agent/state/TypedStorage.ts";
import { InvalidInputError } from "../../../src/errors/agentErrors.ts";

const settings = { model: "m", tools: ["a"] };
const cart = storageKey("cart", z.array(z.string()));

describe("run storage", () => {
  it("keeps a copy that later changes do not reach", () => {
    const storage = new TypedStorage();
    const value = ["a"];
    storage.set(cart, value);
    value.push("b");
    expect(storage.get(cart)).toEqual(["a"]);
    expect(() => storage.get(cart)?.push("c")).toThrow(TypeError);
    expect(storage.get(cart)).toBe(storage.get(cart));
  });

  it("returns copies of values that cannot be frozen, at any depth", () => {
    const rich = storageKey(
      "rich",
      z.object({ at: z.date(), by: z.map(z.string(), z.array(z.number())), tags: z.set(z.string()) }),
    );
    const storage = new TypedStorage();
    const value = { at: new Date(1), by: new Map([["a", [1]]]), tags: new Set(["x"]) };
    storage.set(rich, value);
    const given = storage.get(rich);
    given?.at.setTime(2);
    given?.by.set("b", []);
    given?.tags.clear();
    expect(storage.get(rich)).toEqual(value);
    expect(storage.values.get("rich")).toEqual(value);
    expect(Object.isFrozen(storage.get(rich))).toBe(true);
  });

  it("refuses a value that its schema refuses, and stays unchanged", () => {
    const storage = new TypedStorage();
    storage.set(cart, ["a"]);
    storage.takeChanges();
    expect(() => storage.set(cart, [1] as unknown as string[])).toThrow(InvalidInputError);
    expect(() => storage.set(cart, [1] as unknown as string[])).toThrow(
      expect.objectContaining({ subject: 'value of storage key "cart"' }),
    );
    expect(storage.get(cart)).toEqual(["a"]);
    expect(storage.takeChanges().size).toBe(0);
  });

  it("checks a restored value once, at its first read, without counting a change", () => {
    let checks = 0;
    const counted = storageKey(
      "counted",
      z.number().refine(() => ++checks > 0),
    );
    const storage = new TypedStorage(
      new Map<string, unknown>([
        ["counted", 1],
        ["cart", "not a list"],
      ]),
    );
    expect([storage.get(counted), storage.get(counted), checks]).toEqual([1, 1, 1]);
    expect(storage.takeChanges().size).toBe(0);
    expect(() => storage.get(cart)).toThrow(expect.objectContaining({ subject: 'stored value of storage key "cart"' }));
  });

  it("checks a value again under another schema of the same name", () => {
    const storage = new TypedStorage();
    storage.set(cart, ["a"]);
    expect(() => storage.get(storageKey("cart", z.number()))).toThrow(InvalidInputError);
  });

  it("lists the changes since its last query", () => {
    const storage = new TypedStorage(new Map([["old", 1]]));
    storage.set(cart, ["a"]);
    storage.delete({ name: "old" });
    storage.delete({ name: "never there" });
    expect([...storage.takeChanges()]).toEqual([
      ["cart", { value: ["a"] }],
      ["old", undefined],
    ]);
    storage.set(cart, ["b"]);
    storage.delete(cart);
    expect([...storage.takeChanges()]).toEqual([["cart", undefined]]);
    expect(storage.get(cart)).toBeUndefined();
    expect(storage.takeChanges().size).toBe(0);
  });
});

describe("the state of a run", () => {
  it("starts with the system prompt if its history is fresh", () => {
    const defaults = { settings, systemPrompt: "be brief" };
    const fresh = new RunState({ numbers: { next: 7 } }, defaults);
    expect(fresh.history.takeChanges()).toEqual([
      { kind: "append", messages: [{ number: 7, message: { role: "system", content: "be brief" } }] },
    ]);
    expect(new RunState({ messages: [] }, defaults).history.messages).toEqual([]);
  });

  it("is built from plain data", () => {
    const state = new RunState(
      {
        messages: [{ number: 3, message: { role: "user", content: "x" } }],
        numbers: { next: 9 },
        storage: new Map([["cart", ["a"]]]),
        settings: { model: "other", tools: [] },
        iteration: 4,
        progress: 50,
        progressSummary: "half",
        decisions: [{ decision: "d" }],
        requirements: { files: ["f"] },
      },
      { settings, systemPrompt: "unused" },
    );
    expect(state).toMatchObject({
      iteration: 4,
      progress: 50,
      progressSummary: "half",
      decisions: [{ decision: "d" }],
      requirements: { files: ["f"] },
    });
    expect(state.settings).toEqual({ model: "other", tools: [] });
    expect(state.history.messages).toEqual([{ role: "user", content: "x" }]);
    expect(state.history.numbers.next).toBe(9);
    expect(state.takeDecisions()).toEqual([]);
    expect(state.storage.takeChanges().size).toBe(0);
  });

  it("replaces settings and requirements as a whole when they change", () => {
    const state = new RunState({}, { settings });
    const first = state.settings;
    state.configure({ parameters: { temperature: 0 } });
    expect(state.settings).toEqual({ ...settings, parameters: { temperature: 0 } });
    expect(state.settings).not.toBe(first);
    expect(first).toEqual(settings);
    state.require({ files: ["a", "a"], environment: { node: ">=20" } });
    const needs = state.requirements;
    state.require({ files: ["a"], environment: { node: ">=20" } });
    expect(state.requirements).toBe(needs);
    state.require({ files: ["b"], environment: { git: "*" } });
    expect(state.requirements).toEqual({ files: ["a", "b"], environment: { node: ">=20", git: "*" } });
  });

  it("lists new decisions once", () => {
    const state = new RunState({}, { settings });
    state.recordDecision({ decision: "one" });
    expect(state.takeDecisions()).toEqual([{ decision: "one" }]);
    state.recordDecision({ decision: "two", reason: "why" });
    expect(state.takeDecisions()).toEqual([{ decision: "two", reason: "why" }]);
    expect(state.decisions).toHaveLength(2);
  });

  it.each([-1, 101, Number.NaN])("refuses %s as progress", (percent) => {
    expect(() => new RunState({}, { settings }).setProgress(percent)).toThrow(InvalidInputError);
  });
});
