import { InvalidInputError } from "agent-persistence";
import { compareRuns, type RunTrace, type TraceVisit } from "agent-persistence/replay";
import { expect, it } from "vitest";

const visit: TraceVisit = {
  node: "n",
  state: "ended",
  requests: [],
  calls: [],
  waits: [],
  messages: { added: [], removed: [] },
};

const run = (change: object = {}) =>
  ({ version: 1, agentId: "a", runId: "r", status: "completed", input: 1, visits: [visit], ...change }) as RunTrace;

function nested(depth: number, inside: unknown): unknown {
  let value = inside;
  for (let level = 0; level < depth; level++) value = { value };
  return value;
}

const callOf = (input: unknown) => ({ toolCallId: "c", tool: "t", effect: "none", state: "succeeded", input });

it.each([[null], [{}], [{ ...visit, calls: [null] }], [{ ...visit, requests: [null] }], [{ ...visit, messages: {} }]])(
  "refuses a run with the visit %j",
  (hostile) => {
    const compare = () => compareRuns(run(), run({ visits: [hostile] }));
    expect(compare).toThrow(InvalidInputError);
    expect(compare).toThrow("second run of compareRuns()");
    expect(compare).toThrow("visits.0");
  },
);

it("finds a difference below many levels, and refuses more than 1,000", () => {
  expect(compareRuns(run({ output: nested(990, 1) }), run({ output: nested(990, 2) })).isSame).toBe(false);
  expect(compareRuns(run({ output: nested(990, 1) }), run({ output: nested(990, 1) })).isSame).toBe(true);
  for (const depth of [1_001, 100_000])
    expect(() => compareRuns(run({ output: nested(depth, 1) }), run({ output: nested(depth, 2) }))).toThrow(
      "at most 1000 levels",
    );
});

it("refuses values that are not JSON", () => {
  for (const output of [1n, () => 1, { at: Symbol("s") }])
    expect(() => compareRuns(run({ output }), run())).toThrow(InvalidInputError);
});

it("ignores ids in messages, and compares them in inputs and outputs of tools", () => {
  const part = (toolCallId: string, input: unknown = {}) => ({ type: "tool-call", toolCallId, toolName: "t", input });
  const value = (providerOptions: unknown) => ({ type: "order", providerOptions, toolCallId: providerOptions });
  const said = (content: unknown) =>
    run({
      visits: [
        { ...visit, messages: { added: [{ number: 1, message: { role: "assistant", content } }], removed: [] } },
      ],
    });
  expect(compareRuns(said([part("a")]), said([part("b")])).isSame).toBe(true);
  expect(compareRuns(said([part("a", value("x"))]), said([part("a", value("y"))])).isSame).toBe(false);
  expect(compareRuns(run({ output: value("x") }), run({ output: value("y") })).isSame).toBe(false);
  const calling = (input: unknown) => run({ visits: [{ ...visit, calls: [callOf(input)] }] });
  expect(compareRuns(calling(value("x")), calling(value("y"))).isSame).toBe(false);
});

it("compares ids in data that only resembles a message part", () => {
  const calling = (input: unknown) => run({ visits: [{ ...visit, calls: [callOf(input)] }] });
  const data = (toolCallId: string) => ({ type: "text", text: "a text", toolCallId });
  const call = (toolCallId: string) => ({ type: "tool-call", toolCallId, toolName: "t", input: {} });
  expect(compareRuns(run({ output: data("x") }), run({ output: data("y") })).isSame).toBe(false);
  expect(compareRuns(run({ output: [call("x")] }), run({ output: [call("y")] })).isSame).toBe(true);
  for (const value of [data, call])
    expect(compareRuns(calling(value("x")), calling(value("y")))).toMatchObject({ calls: { changed: 1 } });
});
