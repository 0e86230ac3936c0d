import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { advance } from "../../src/agent/run/advance.ts";
import { type Graph, strategy } from "../../src/agent/strategy/Strategy.ts";
import { StrategyGraph } from "../../src/agent/strategy/StrategyGraph.ts";
import { InvalidInputError } from "../../src/errors/agentErrors.ts";
import { InvalidStrategyError } from "../../src/errors/strategyErrors.ts";

const compile = <In, Out>(build: (graph: Graph<In, Out>) => void) => new StrategyGraph(strategy<In, Out>("s", build));
const add = (graph: Graph<number, number>, name: string) => graph.node(name, (value: number) => value);

describe("advance", () => {
  it("enters and leaves nested subgraphs in one step", () => {
    const graph = compile<number, number>((outer) => {
      const before = add(outer, "before");
      const sub = outer.subgraph<number, number>("sub", (middle) => {
        const deep = middle.subgraph<number, number>("deep", (inner) => {
          const node = add(inner, "node");
          inner.edge(inner.start, node, { map: (value) => value + 1 });
          inner.edge(node, inner.finish, { map: (value) => value * 2 });
        });
        middle.edge(middle.start, deep, { map: (value) => value + 10 });
        middle.edge(deep, middle.finish, { map: (value) => value + 100 });
      });
      outer.edge(outer.start, before);
      outer.edge(before, sub);
      outer.edge(sub, outer.finish, { map: (value) => -value });
    });
    expect(advance(graph, "start", 0)).toMatchObject({ nodeId: "before", input: 0, entered: [], left: [] });
    expect(advance(graph, "before", 0)).toEqual({
      nodeId: "sub/deep/node",
      input: 11,
      entered: ["sub", "sub/deep"],
      left: [],
      crossings: [
        { kind: "entered", path: "sub", value: 0 },
        { kind: "entered", path: "sub/deep", value: 10 },
      ],
    });
    expect(advance(graph, "sub/deep/node", 5)).toEqual({
      nodeId: "finish",
      input: -110,
      entered: [],
      left: ["sub/deep", "sub"],
      crossings: [
        { kind: "left", path: "sub/deep", value: 10 },
        { kind: "left", path: "sub", value: 110 },
      ],
    });
  });

  it("leaves one subgraph and enters the next", () => {
    const graph = compile<number, number>((outer) => {
      const [a, b] = ["a", "b"].map((name) =>
        outer.subgraph<number, number>(name, (inner) => {
          const node = add(inner, "node");
          inner.edge(inner.start, node);
          inner.edge(node, inner.finish);
        }),
      );
      outer.edge(outer.start, a!);
      outer.edge(a!, b!);
      outer.edge(b!, a!, { when: (value) => value < 3 });
      outer.edge(b!, outer.finish);
    });
    expect(advance(graph, "a/node", 1)).toMatchObject({ nodeId: "b/node", left: ["a"], entered: ["b"] });
    expect(advance(graph, "b/node", 1)).toMatchObject({ nodeId: "a/node", left: ["b"], entered: ["a"] });
    expect(advance(graph, "b/node", 3)).toMatchObject({ nodeId: "finish", left: ["b"], entered: [] });
  });

  it("takes the first edge whose condition holds", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }), (conditions) => {
        const graph = compile<number, number>((outer) => {
          const from = add(outer, "from");
          outer.edge(outer.start, from);
          conditions.forEach((holds, at) =>
            outer.edge(from, add(outer, `to${at}`), { when: () => holds, map: () => at }),
          );
          outer.edge(from, outer.finish);
        });
        const first = conditions.indexOf(true);
        fc.pre(first >= 0);
        expect(advance(graph, "from", 0)).toMatchObject({ nodeId: `to${first}`, input: first });
      }),
    );
  });

  it("names the node and its edges if no edge matches", () => {
    const graph = compile<number, number>((outer) => {
      const sub = outer.subgraph<number, number>("sub", (inner) => {
        const node = add(inner, "node");
        inner.edge(inner.start, node);
        inner.edge(node, add(inner, "dead end"), { when: (value) => value > 0 });
        inner.edge(node, inner.finish, { when: (value) => value > 1 });
      });
      outer.edge(outer.start, sub);
      outer.edge(sub, outer.finish);
    });
    expect(() => advance(graph, "sub/node", 0)).toThrow(
      expect.objectContaining({ code: "no_matching_edge", nodeId: "sub/node", edges: ["dead end", "finish"] }),
    );
    expect(() => advance(graph, "sub/dead end", 0)).toThrow(/has no edges/);
  });

  it("checks the input and output schemas of strategies", () => {
    const inner = strategy("inner", { input: z.number().max(5), output: z.number().min(3) }, (graph) => {
      const node = add(graph, "node");
      graph.edge(graph.start, node);
      graph.edge(node, graph.finish);
    });
    const graph = compile<number, number>((outer) => {
      const sub = outer.subgraph("sub", inner);
      outer.edge(outer.start, sub);
      outer.edge(sub, outer.finish);
    });
    expect(advance(graph, "start", 5)).toMatchObject({ nodeId: "sub/node" });
    expect(() => advance(graph, "start", 6)).toThrow(InvalidInputError);
    expect(() => advance(graph, "sub/node", 2)).toThrow(
      expect.objectContaining({ subject: 'output of subgraph "sub"' }),
    );
    const alone = new StrategyGraph(inner);
    expect(() => advance(alone, "node", 2)).toThrow(expect.objectContaining({ subject: 'output of strategy "inner"' }));
  });

  it("detects a cycle of subgraphs without a node", () => {
    const graph = compile<number, number>((outer) => {
      const empty = outer.subgraph<number, number>("empty", (inner) => inner.edge(inner.start, inner.finish));
      outer.edge(outer.start, empty);
      outer.edge(empty, empty, { when: (value) => value > 0 });
      outer.edge(empty, outer.finish);
    });
    expect(() => advance(graph, "start", 1)).toThrow(InvalidStrategyError);
    expect(advance(graph, "start", 0)).toMatchObject({ nodeId: "finish", entered: ["empty"], left: ["empty"] });
  });

  it("passes on a frozen copy, or the value if it is already frozen", () => {
    const graph = compile<readonly number[], readonly number[]>((outer) => {
      const node = outer.node("node", (list: readonly number[]) => list);
      outer.edge(outer.start, node);
      outer.edge(node, outer.finish);
    });
    const list = [1];
    const first = advance(graph, "start", list);
    list.push(2);
    expect(first.input).toEqual([1]);
    expect(Object.isFrozen(first.input)).toBe(true);
    expect(advance(graph, "node", first.input).input).toBe(first.input);
  });
});
