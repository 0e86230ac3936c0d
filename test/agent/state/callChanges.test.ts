import { expect, it } from "vitest";
import { z } from "zod";
import { storageKey } from "../../../src/index.ts";
import { CallChanges, storageSlot } from "../../../src/agent/state/CallChanges.ts";
import { RunState } from "../../../src/agent/state/RunState.ts";

const count = storageKey("count", z.number());

function world() {
  const state = new RunState({}, { settings: { model: "m", tools: [] } });
  const changes = new CallChanges(state, []);
  const set = (calls: readonly string[], value: number) => {
    state.storage.set(count, value);
    changes.note(calls, { slots: [storageSlot("count")] });
  };
  return { changes, set };
}

it("the outcome of a call keeps a value that a running call overwrote", () => {
  const { changes, set } = world();
  set(["a"], 1);
  set(["b"], 2);
  expect(changes.take("a")).toEqual({ storage: { count: 1 } });
  expect(changes.take("b")).toEqual({ storage: { count: 2 } });
});

it.each([
  ["a call that ended before", ["b"]],
  ["a call within a call that ended before", ["c", "b"]],
  ["the node", []],
])("the outcome of a call omits a value that %s overwrote", (_name, calls) => {
  const { changes, set } = world();
  set(["a"], 1);
  set(calls, 2);
  changes.take("b");
  expect(changes.take("a")).toBeUndefined();
});
