import { InMemoryPersistenceStorageProvider, persistence, strategy, tool } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { countParts, frozenCopyInTurns } from "../../../src/internal/frozenCopy.ts";
import { durableAgent } from "../support/durableAgent.ts";

const rows = (count: number) => Array.from({ length: count }, (_, at) => ({ at, text: "x", nested: { at } }));

/** A run whose one tool returns a value, and how it ends. */
async function outcomeOf(output: unknown) {
  const give = tool({ name: "give", description: "gives", inputSchema: z.object({}), execute: () => output });
  const steps = strategy<string, string>("s", (graph) => {
    const node = graph.node("node", async (_input: string, context) => {
      await context.tools.call(give, {});
      return "done";
    });
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });
  const agent = durableAgent(steps, new InMemoryPersistenceStorageProvider(), { tools: [give] });
  const result: unknown = await agent.run("in").catch((error: unknown) => error);
  return { result, agent };
}

describe("a large output of a tool", () => {
  it("is copied over several turns of the event loop", async () => {
    let others = 0;
    setImmediate(() => others++);
    const value = rows(20_000);
    const copy = await frozenCopyInTurns(value);
    expect(others).toBe(1);
    expect(copy).toEqual(value);
    expect(copy).not.toBe(value);
    expect([copy, copy[0], copy[0]?.nested].every(Object.isFrozen)).toBe(true);
  });

  it.each([
    ["an object with too many fields", () => Object.fromEntries(rows(300_000).map(({ at }) => [`k${at}`, at]))],
    ["too many dates", () => Array.from({ length: 300_000 }, () => new Date(0))],
    ["an array of a billion holes", () => Object.assign([], { length: 1_000_000_000 })],
  ])("is refused if it has too many parts: %s", async (_name, make) => {
    const { result, agent } = await outcomeOf(make());
    expect(result).toMatchObject({ code: "not_serializable" });
    expect(await persistence(agent).agent().getLatestCheckpoint()).toBeDefined();
  });

  it("that is circular is refused, and a resume says how to get past the call", async () => {
    const circle: { self?: object } = {};
    circle.self = circle;
    const { result, agent } = await outcomeOf(circle);
    expect(String(result)).toContain("is circular or has more than 250000 fields");
    const again: unknown = await agent.resume().catch((error: unknown) => error);
    for (const error of [result, again]) {
      expect(error).toMatchObject({ code: "not_serializable" });
      expect(String(error)).toContain("The call is not repeated. Change the tool, then roll back");
    }
  });

  it("is kept if it is an array of many numbers", async () => {
    const { result } = await outcomeOf(Array.from({ length: 300_000 }, (_, at) => at % 10));
    expect(result).toMatchObject({ status: "completed" });
  });
});

it("the count of parts stops at its limit", () => {
  const circle: { self?: object } = {};
  circle.self = circle;
  expect(countParts(circle, 100)).toBe(101);
  expect(countParts({ a: 1, b: [{ c: 2 }] }, 100)).toBe(7);
  expect(countParts(new Uint8Array(1_000_000), 100)).toBe(0);
});
