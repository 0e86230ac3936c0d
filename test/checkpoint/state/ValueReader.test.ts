import { registerClass } from "agent-persistence";
import { expect, it } from "vitest";
import { emptyState } from "../../../src/checkpoint/state/AgentState.ts";
import { ValueReader } from "../../../src/checkpoint/state/ValueReader.ts";
import { encodeValue } from "../../../src/checkpoint/values/valueCodec.ts";

function readTwice(value: unknown): readonly [first: unknown, second: unknown] {
  const [slot, values] = [encodeValue(value, "value"), new WeakMap<object, unknown>()];
  const read = () => new ValueReader(emptyState, new Map(), values).read(slot);
  return [read(), read()];
}

it("readers of one agent share values that users do not change, and decode all others for each reader", () => {
  for (const shared of [
    { at: undefined },
    { role: "user", content: [{ type: "file", data: new Uint8Array(9), mediaType: "image/png" }] },
  ]) {
    const [first, second] = readTwice(shared);
    expect(second).toBe(first);
  }
  for (const own of [new Set(["a"]), { left: new Map([["a", 1]]) }, [new Date(0)], new Uint8Array(2)]) {
    const [first, second] = readTwice(own);
    expect(second).toEqual(first);
    expect(second).not.toBe(first);
  }
});

class Cart {
  readonly items: string[] = [];
}
registerClass("test.ValueReader.Cart", Cart);

it("readers of one agent share the values of the storage, of which users get copies, except class instances", () => {
  const values = new WeakMap<object, unknown>();
  const stored = { map: new Map([["a", { at: new Date(0) }]]), cart: new Map([["b", new Cart()]]) };
  const storage = new Map(Object.entries(stored).map(([key, value]) => [key, encodeValue(value, key)]));
  const read = () => new ValueReader({ ...emptyState, storage }, new Map(), values).storage();
  const [first, second] = [read(), read()];
  expect([...second]).toEqual(Object.entries(stored));
  expect(second.get("map")).toBe(first.get("map"));
  expect(second.get("cart")).not.toBe(first.get("cart"));
});

it("a reader freezes the objects within maps and sets", () => {
  const slot = encodeValue(new Map([["a", new Set([{ tags: ["b"] }])]]), "value");
  const value = new ValueReader(emptyState, new Map()).read(slot) as Map<string, Set<{ tags: string[] }>>;
  const [item] = value.get("a") ?? [];
  expect(() => item!.tags.push("c")).toThrow(TypeError);
});
