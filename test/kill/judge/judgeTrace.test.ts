import { describe, expect, it } from "vitest";
import { judgeTrace } from "./judgeTrace.ts";
import type { TraceLine } from "./TraceLine.ts";

const begin: TraceLine = { kind: "process", processId: 1 };
const node = (iteration: number, name = `n${iteration}`): TraceLine => ({ kind: "node", iteration, node: name });
const model = (turn: number): TraceLine => ({ kind: "model", turn });
const ask = (call: string, effect = "idempotent", by: "model" | "node" = "node"): TraceLine => ({
  kind: "asked",
  call,
  tool: "t",
  effect,
  by,
});
const start = (call: string): TraceLine => ({ kind: "started", call });
const end = (call: string): TraceLine => ({ kind: "ended", call });
const call = (name: string): readonly TraceLine[] => [ask(name), start(name), end(name)];

describe("judgeTrace", () => {
  it.each<[string, readonly TraceLine[]]>([
    ["a node that was cut off runs again", [begin, node(0), begin, node(0), node(1)]],
    ["the next node begins", [begin, node(0), begin, node(1)]],
    ["a call without outcome runs again", [begin, node(0), ask("a"), start("a"), begin, node(0), ...call("a")]],
    ["the outcome of a call was lost with the process", [begin, node(0), ...call("a"), begin, node(0), ...call("a")]],
    [
      "calls at once",
      [begin, node(0), ask("a"), ask("b"), start("a"), end("a"), start("b"), begin, node(0), ...call("a")],
    ],
    ["an answer was lost with the process", [begin, node(0), model(0), begin, node(0), model(0)]],
    [
      "a call given back from its record",
      [begin, node(0), ...call("a"), ...call("b"), begin, node(0), ask("a"), end("a")],
    ],
  ])("accepts: %s", (_name, lines) => {
    expect(judgeTrace(lines)).toEqual([]);
  });

  it.each<[string, readonly TraceLine[]]>([
    ["a finished node runs again", [begin, node(0), node(1), begin, node(0)]],
    ["a node is left out", [begin, node(0), begin, node(2)]],
    ["another node than before", [begin, node(0), begin, node(0, "other")]],
    ["a call of an earlier node", [begin, node(0), ...call("a"), node(1), ...call("a")]],
    ["a call that the next one followed", [begin, node(0), ...call("a"), ...call("b"), begin, node(0), ...call("a")]],
    [
      "a call with an outcome in the log",
      [begin, ...call("a"), { kind: "recorded", calls: ["a"] }, begin, ...call("a")],
    ],
    ["a call in doubt", [begin, ask("a", "irreversible"), start("a"), begin, ask("a", "irreversible"), start("a")]],
    ["a call without a request", [begin, start("a")]],
    ["a call after the end", [begin, ...call("a"), { kind: "completed" }, begin, ...call("a")]],
    [
      "a repeated response that was already used",
      [begin, model(0), ask("a", "none", "model"), start("a"), begin, model(0)],
    ],
    ["an answer of an earlier node", [begin, node(0), model(0), node(1), begin, node(1), model(0)]],
    [
      "a version that goes back",
      [
        { kind: "checkpoint", id: "a", version: 2, iteration: 0, ended: 0 },
        { kind: "checkpoint", id: "b", version: 1, iteration: 0, ended: 0 },
      ],
    ],
    ["a save that was not durable", [{ kind: "checkpoint", id: "a", version: 1, iteration: 0, ended: 1 }]],
  ])("finds: %s", (_name, lines) => {
    expect(judgeTrace(lines)).toHaveLength(1);
  });
});
