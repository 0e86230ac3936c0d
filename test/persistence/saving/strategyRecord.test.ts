import { type Graph, InMemoryPersistenceStorageProvider, type Node, persistence, strategy } from "agent-persistence";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StrategyGraph } from "../../../src/agent/strategy/StrategyGraph.ts";
import { codeDifferences } from "../../../src/persistence/versions/judgeCode.ts";
import { durableAgent } from "../support/durableAgent.ts";

type Build = (graph: Graph<string, string>) => Node<string, string>;
const pass = (graph: Graph<string, string>, name: string) => graph.node(name, (text: string) => text);

function structureOf(build: Build) {
  const built = strategy<string, string>("s", (graph) => {
    const node = build(graph);
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });
  return new StrategyGraph(built).structure;
}

describe("the fingerprint of a strategy", () => {
  it("equals the fingerprint of stored runs if the strategy has no parallel nodes", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const stored = strategy<string, string>("s", (graph) => {
      const count = pass(graph, "count");
      const facts = graph.subgraph<string, string>("facts", (inner) => {
        const step = pass(inner, "step#1");
        inner.edge(inner.start, step);
        inner.edge(step, inner.finish);
      });
      graph.edge(graph.start, facts, { when: (text) => text !== "" });
      graph.edge(graph.start, count, { map: (text) => text });
      graph.edge(facts, count);
      graph.edge(count, graph.finish);
    });
    const agent = durableAgent(stored, storage);
    await agent.run("x");
    expect(await persistence(agent).agent().getLatestCheckpoint()).toMatchObject({
      strategyFingerprint: "Z0Y1bq13ScVR8mYmH8ezu3eioDlac2HiMY1bl7MXEB8",
    });
  });
});

describe("the differences of two strategies", () => {
  it("name the changed branches of a parallel node, their start and their reaction to failures", () => {
    const before = structureOf((graph) => {
      const branches = { facts: pass(graph, "a"), shout: pass(graph, "b") };
      return graph.parallel("both", branches, ({ facts }) => facts);
    });
    const after = structureOf((graph) => {
      const branches = { facts: pass(graph, "b"), whisper: pass(graph, "a") };
      return graph.parallel("both", branches, { history: "fresh", onFailure: "stop" }, ({ facts }) => facts);
    });
    expect(codeDifferences(before, after)).toEqual([
      'branch "facts" of "both": node "a" is gone',
      'branch "shout" of "both": node "b" is gone',
      'history "fork" of "both" is gone',
      'onFailure "finish" of "both" is gone',
      'branch "facts" of "both": node "b" is new',
      'branch "whisper" of "both": node "a" is new',
      'history "fresh" of "both" is new',
      'onFailure "stop" of "both" is new',
    ]);
  });

  it("name the changed paths in a subgraph, and whether the branches of items have keys", () => {
    const within =
      (keyed: boolean): Build =>
      (graph) =>
        graph.subgraph<string, string>("inside", (inner) => {
          const options = keyed ? { key: (item: string) => item } : {};
          const all = inner.each("all", pass(inner, "read"), options, (texts) => texts.join());
          inner.edge(inner.start, all, { map: (text) => [text] });
          inner.edge(all, inner.finish);
        });
    expect(codeDifferences(structureOf(within(false)), structureOf(within(true)))).toEqual([
      'a branch of "inside/all" for each item: node "inside/read" is gone',
      'a branch of "inside/all" for each item: node "inside/read" with a key is new',
    ]);
  });

  it("are empty exactly if the fingerprints are equal", () => {
    const names = ["x", "y"] as const;
    const nodes = fc.shuffledSubarray(["a", "b"], { minLength: 2 });
    const options = fc.record(
      { history: fc.constantFrom("fork", "fresh"), onFailure: fc.constantFrom("finish", "stop") },
      { requiredKeys: [] },
    );
    const named = fc.tuple(nodes, fc.integer({ min: 0, max: 2 }), options).map(([order, count, given]): Build => {
      return (graph) => {
        const all = order.slice(0, Math.max(count, 1)).map((name) => pass(graph, name));
        if (count === 0) return all[0]!;
        const branches = Object.fromEntries(names.slice(0, count).map((name, index) => [name, all[index]!]));
        return graph.parallel("parallel", branches, given, String);
      };
    });
    const each = fc.tuple(nodes, fc.boolean(), options).map(([order, keyed, given]): Build => {
      return (graph) => {
        const chosen = keyed ? { ...given, key: String } : given;
        return graph.each("parallel", pass(graph, order[0]!), chosen, String) as Node<never, string> as Node<
          string,
          string
        >;
      };
    });
    const structure = fc.oneof(named, each).map(structureOf);
    fc.assert(
      fc.property(structure, structure, (before, after) => {
        const isSame = JSON.stringify(before) === JSON.stringify(after);
        expect(codeDifferences(before, after).length === 0).toBe(isSame);
        expect(codeDifferences(JSON.parse(JSON.stringify(before)) as typeof before, before)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
