import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, strategy } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { encodeValue } from "../../src/checkpoint/values/valueCodec.ts";
import { copyMutableParts, frozenCopy } from "../../src/internal/frozenCopy.ts";

/** What is given to a run is copied before it is stored: the copy must not hide what cannot be stored. */
describe("a value that cannot be stored without changes", () => {
  const deep = (levels: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level++) value = [value];
    return value;
  };
  const linked = (): unknown => {
    const nodes = Array.from({ length: 30 }, (_, id) => ({ id, others: [] as unknown[] }));
    for (const node of nodes) node.others.push(...nodes);
    return { nodes };
  };
  it.each([
    ["a symbol as a key", { at: { [Symbol("s")]: 1 } }],
    ["an array with extra keys", { list: Object.assign([1], { more: 2 }) }],
    ["a subclass of Date", { at: new (class Day extends Date {})(0) }],
    ["a subclass of Array", { list: new (class List extends Array {})() }],
    ["a map with extra keys", { map: Object.assign(new Map(), { more: 2 }) }],
    ["a value nested 20,000 deep", deep(20_000)],
    ["thirty objects that refer to each other", linked()],
  ])("is refused as input: %s", async (_what, input) => {
    const passing = strategy<unknown, unknown>("passing", (g) => {
      const node = g.node("node", (given: unknown) => given);
      g.edge(g.start, node);
      g.edge(node, g.finish);
    });
    const agent = new AIAgent({
      promptExecutor: { execute: () => Promise.reject(new Error("no model")) },
      llmModel: "none",
      strategy: passing,
    }).install(Persistence, { storage: new InMemoryPersistenceStorageProvider() });
    await expect(agent.run(input)).rejects.toMatchObject({ code: "not_serializable" });
  });
});

describe("a value whose objects are shared", () => {
  const shared = (levels: number, leaf: unknown): unknown => {
    let value = leaf;
    for (let level = 0; level < levels; level++) value = { left: value, right: value };
    return value;
  };

  it.each([
    ["plain objects", {}],
    ["maps", new Map()],
  ])("is refused if it would be stored as too many objects: %s", (_what, leaf) => {
    const stored = leaf instanceof Map ? new Map([["map", shared(60, leaf)]]) : shared(60, leaf);
    expect(() => encodeValue(frozenCopy(stored), "the value")).toThrow(
      expect.objectContaining({ code: "not_serializable", message: expect.stringContaining("2000000 objects") }),
    );
  });

  it("is copied for a node at most as often as it can be stored", () => {
    let value: object = { first: new Date(0) };
    for (let level = 0; level < 60; level++) value = frozenCopy({ left: value, right: value });
    const given = frozenCopy({ first: new Date(0), value });
    const { first } = copyMutableParts(given);
    expect(first).not.toBe(given.first);
    expect(first).toEqual(given.first);
  });
});
