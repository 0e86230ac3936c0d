import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { advance } from "../../../src/agent/run/advance.ts";
import { type Graph, type Node, strategy } from "../../../src/agent/strategy/Strategy.ts";
import { StrategyGraph } from "../../../src/agent/strategy/StrategyGraph.ts";

type Build = (graph: Graph<string, string>) => void;
const pass = (graph: Graph<string, string>, name: string) => graph.node(name, (text: string) => text);
const first = (results: Readonly<Record<string, unknown>>) => String(Object.values(results)[0]);

/** A graph that runs `node` alone. */
function alone(graph: Graph<string, string>, node: Node<string, string>): void {
  graph.edge(graph.start, node);
  graph.edge(node, graph.finish);
}

const single: Build = (graph) => alone(graph, pass(graph, "only"));
const compile = (build: Build) => new StrategyGraph(strategy<string, string>("s", build));
const refused = (problem: RegExp, code = "invalid_strategy") =>
  expect.objectContaining({ code, message: expect.stringMatching(problem) as unknown });

describe("a compiled strategy with parallel nodes", () => {
  const handles: Record<string, Node<string, string>> = {};
  const key = (item: string) => item;
  const graph = compile((outer) => {
    const inside = outer.subgraph<string, string>("inside", (inner) => {
      const words = inner.subgraph<string, string>("words", single);
      const letters = (handles["letters"] = pass(inner, "letters"));
      alone(inner, (handles["both"] = inner.parallel("both", { words, letters }, first)));
    });
    const rows = outer.each("rows", pass(outer, "row"), { key, concurrency: 3, history: "fresh" }, String);
    const cells = outer.each("cells", pass(outer, "cell"), { onFailure: "stop" }, String);
    outer.edge(outer.start, inside);
    outer.edge(inside, rows, { map: (text) => [text] });
    outer.edge(rows, cells, { map: (text) => [text] });
    outer.edge(cells, outer.finish);
  });

  it("lists the parallel nodes and the nodes of their branches by path", () => {
    expect(graph.nodePaths).toEqual([
      "cell",
      "cells",
      "inside/both",
      "inside/letters",
      "inside/words/only",
      "row",
      "rows",
    ]);
  });

  it("finds parallel nodes and branches by path, name and handle", () => {
    expect(["inside/both", "both", handles["both"]!].map((node) => graph.resolve(node))).toEqual(
      Array.from({ length: 3 }, () => "inside/both"),
    );
    expect(graph.resolve(handles["letters"]!)).toBe("inside/letters");
    expect(graph.resolve("only")).toBe("inside/words/only");
    expect(graph.graphAt(["inside", "words"]).nodes.has("only")).toBe(true);
  });

  it("has a plan for each parallel node, with defaults for omitted options", () => {
    expect(graph.node("inside/both")).toMatchObject({ kind: "parallel", history: "fork", onFailure: "finish" });
    expect(graph.node("rows")).toMatchObject({ kind: "parallel", history: "fresh", onFailure: "finish" });
    expect(graph.node("cells")).toMatchObject({ kind: "parallel", history: "fork", onFailure: "stop" });
    expect(graph.node("inside/letters").kind).toBe("leaf");
    expect(graph.leaf("inside/letters")).toBe(graph.node("inside/letters"));
    for (const path of ["inside", "inside/words", "nowhere"])
      expect(() => graph.node(path)).toThrow(expect.objectContaining({ code: "unknown_node" }));
    expect(() => graph.leaf("rows")).toThrow(expect.objectContaining({ code: "unknown_node" }));
  });

  it("names the branches of a parallel node by path", () => {
    expect(graph.branchesOf("inside/both")).toEqual({
      kind: "named",
      nodes: new Map([
        ["words", "inside/words"],
        ["letters", "inside/letters"],
      ]),
    });
    expect(graph.branchesOf("rows")).toEqual({ kind: "each", node: "row", key, concurrency: 3 });
    expect(graph.branchesOf("cells")).toEqual({ kind: "each", node: "cell", concurrency: Infinity });
    for (const path of ["row", "inside"])
      expect(() => graph.branchesOf(path)).toThrow(expect.objectContaining({ code: "unknown_node" }));
  });

  it("steps to and from a parallel node as with any other node", () => {
    expect(advance(graph, "start", "x")).toMatchObject({ nodeId: "inside/both", input: "x", entered: ["inside"] });
    expect(advance(graph, "inside/both", "y")).toMatchObject({ nodeId: "rows", input: ["y"], left: ["inside"] });
  });
});

describe("the input of a parallel node", () => {
  const even = z.number().refine((value) => value % 2 === 0, "expected an even number");
  const small = z.number().refine(async (value) => Promise.resolve(value < 10), "expected a small number");
  const graph = new StrategyGraph(
    strategy<number, number>("s", (outer) => {
      const body = (value: number) => value;
      const inner = strategy("inner", { input: small, output: z.number() }, (own) => own.edge(own.start, own.finish));
      const both = outer.parallel(
        "both",
        {
          even: outer.node("even", { input: even }, body),
          any: outer.node("any", body),
          small: outer.subgraph("small", inner),
        },
        () => 1,
      );
      const free = outer.parallel("free", { only: outer.node("only", body) }, () => 1);
      const all = outer.each(
        "all",
        outer.each("row", outer.node("cell", { input: even }, body), () => 1),
        () => 1,
      );
      const anything = outer.each("anything", outer.node("thing", body), () => 1);
      outer.edge(outer.start, both);
      outer.edge(both, free);
      outer.edge(free, all, { map: (value) => [[value]] });
      outer.edge(all, anything, { map: (value) => [value] });
      outer.edge(anything, outer.finish);
    }),
  );
  const problems = async (path: string, value: unknown) => {
    const schema = graph.inputSchemaOf(path);
    const result = schema && (await z.safeParseAsync(schema, value));
    return result?.error?.issues.map((issue) => [issue.path.join("."), issue.message]) ?? [];
  };

  it("must be accepted by each branch, including subgraphs", async () => {
    expect(await problems("both", 4)).toEqual([]);
    expect(await problems("both", 5)).toEqual([["", "expected an even number"]]);
    expect(await problems("both", 12)).toEqual([["", "expected a small number"]]);
    expect(await problems("both", 13)).toEqual([
      ["", "expected an even number"],
      ["", "expected a small number"],
    ]);
    expect(graph.inputSchemaOf("free")).toBeUndefined();
  });

  it("must be a list of accepted items if the node runs for each item", async () => {
    expect(await problems("all", [[2, 4], []])).toEqual([]);
    expect(await problems("all", [[2], [4, 5]])).toEqual([["1.1", "expected an even number"]]);
    expect(await problems("all", [2])).toEqual([["0", expect.stringContaining("expected array")]]);
    expect(await problems("anything", [1, "two"])).toEqual([]);
    expect(await problems("anything", "two")).toEqual([["", expect.stringContaining("expected array")]]);
  });
});

const noMerge = (name: string) =>
  new RegExp(`parallel node "${name}" has no merge\\. Pass a function as the last argument\\.`);

describe("a parallel node", () => {
  let stranger: Node<string, string> | undefined;
  compile((graph) => alone(graph, (stranger = pass(graph, "stranger"))));

  it.each<[what: string, problem: RegExp, build: Build]>([
    ["no branches", /parallel node "both" has no branches.*\{ first: node \}/, (g) => g.parallel("both", {}, first)],
    [
      "a list of branches",
      /parallel node "both" takes its branches as \{ name: node \}, received an array\./,
      (g) => g.parallel("both", [pass(g, "a")] as never, first),
    ],
    ["the start", /branch "a" of "both" is graph\.start/, (g) => g.parallel("both", { a: g.start }, first)],
    ["the finish", /"all" is graph\.finish/, (g) => g.each("all", g.finish, String)],
    [
      "a node of another graph",
      /branch "a" of "both" names the node "stranger" of another graph.*node of this graph/,
      (g) => g.parallel("both", { a: stranger! }, first),
    ],
    [
      "the name of a node",
      /branch "a" of "both" is given "a" in place of a node/,
      (g) => g.parallel("both", { a: "a" as never }, first),
    ],
    [
      "the name of the start",
      /"all" is given "start" in place of a node\. Pass what graph\.node\(…\) returned/,
      (g) => g.each("all", "start" as never, String),
    ],
    [
      "a function in place of a node",
      /branch "a" of "both" is given a function\. Pass what graph\.node\(…\) returned\./,
      (g) => g.parallel("both", { a: String as never }, first),
    ],
    ["undefined in place of a node", /"all" is given undefined/, (g) => g.each("all", undefined as never, String)],
    [
      "a node twice",
      /branch "b" of "both" is "a", which is already a branch of "both".*another node/,
      (g) => {
        const a = pass(g, "a");
        g.parallel("both", { a, b: a }, first);
      },
    ],
    [
      "a node that is a branch of another",
      /"all" is "a", which is already a branch of "both"/,
      (g) => {
        const a = pass(g, "a");
        g.parallel("both", { a }, first);
        g.each("all", a, String);
      },
    ],
    [
      "a branch without a name",
      /"" of "both" is not a branch name/,
      (g) => g.parallel("both", { "": pass(g, "a") }, first),
    ],
    [
      "a branch name with /",
      /"a\/b" of "both" is not a branch/,
      (g) => g.parallel("both", { "a/b": pass(g, "a") }, first),
    ],
    [
      "a branch name with #",
      /"a#b" of "both" is not a branch/,
      (g) => g.parallel("both", { "a#b": pass(g, "a") }, first),
    ],
    ["undefined as merge", noMerge("both"), (g) => g.parallel("both", { a: pass(g, "a") }, undefined as never)],
    ["no merge", noMerge("both"), (g) => (g.parallel as (...given: unknown[]) => never)("both", { a: pass(g, "a") })],
    ["options and no merge", noMerge("all"), (g) => g.each("all", pass(g, "a"), {} as never)],
    ["a name that is a path", /"a\/b" is not a node name/, (g) => g.each("a/b", pass(g, "a"), String)],
  ])("is refused with %s", (_what, problem, build) => {
    expect(() => compile(build)).toThrow(refused(problem));
  });

  it("is refused with the name of another node", () => {
    expect(() => compile((g) => g.each("a", pass(g, "a"), String))).toThrow(refused(/"a"/, "duplicate_node"));
  });

  it.each<[what: string, problem: RegExp, options: object]>([
    ["an unknown option", /"histories"; did you mean "history"/, { histories: "fork" }],
    ["another history", /"fork"\|"fresh"/, { history: "none" }],
    ["another reaction to a failure", /"finish"\|"stop"/, { onFailure: "abort" }],
    ["a key that is not a function", /expected a function/, { key: "name" }],
    ["a concurrency of 0", /whole number from 1 on/, { concurrency: 0 }],
    ["half a branch at a time", /whole number from 1 on/, { concurrency: 1.5 }],
    ["no options", /expected a plain object/, null as never],
  ])("is refused with %s, and the error names it", (_what, problem, options) => {
    const each: Build = (g) => g.each("all", pass(g, "a"), options, String);
    expect(() => compile(each)).toThrow(refused(problem, "invalid_input"));
    expect(() => compile(each)).toThrow(/options of parallel node "all"/);
  });

  it("has a key and a concurrency only if it runs for each item", () => {
    const parallel = (options: object) => () => compile((g) => g.parallel("both", { a: pass(g, "a") }, options, first));
    expect(parallel({ concurrency: 1 })).toThrow(/unknown option "concurrency"/);
    expect(parallel({ key: String })).toThrow(/unknown option "key"/);
  });

  it("is refused after the graph was built", () => {
    let late: Graph<string, string> | undefined;
    compile((graph) => {
      late = graph;
      single(graph);
    });
    expect(() => late!.parallel("both", {}, first)).toThrow(refused(/after the graph was built/));
  });
});

describe("the branches of a parallel node", () => {
  it.each<[what: string, problem: RegExp, wrong: (graph: Graph<string, string>, branch: Node<string, string>) => void]>(
    [
      ["out", /from "a" to "finish", but "a" is a branch of "both".*lead from "both"/, (g, a) => g.edge(a, g.finish)],
      [
        "in",
        /from "start" to "a", but "a" is a branch of "both".*lead to "both"/,
        (g, a) => g.edge(g.start, a, { when: () => false }),
      ],
    ],
  )("have no edges %s, whether added before or after the node", (_what, problem, wrong) => {
    const build = (before: boolean) => () =>
      compile((graph) => {
        const a = pass(graph, "a");
        if (before) wrong(graph, a);
        const both = graph.parallel("both", { a }, first);
        if (!before) wrong(graph, a);
        graph.edge(graph.start, both);
        graph.edge(both, graph.finish);
      });
    expect(build(true)).toThrow(refused(problem));
    expect(build(false)).toThrow(refused(problem));
  });

  it("are reachable exactly if their node is, at any depth", () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const nested = (name: string, reached: boolean) =>
      strategy<string, string>(name, (graph) => {
        const both = graph.parallel("both", { a: pass(graph, "a") }, first);
        const outer = graph.parallel("outer", { both, b: pass(graph, "b") }, first);
        if (reached) alone(graph, outer);
        else graph.edge(graph.start, graph.finish);
      });
    nested("with reached branches", true);
    nested("with lost branches", false);
    const calls: readonly unknown[][] = warned.mock.calls;
    warned.mockRestore();
    expect(calls.map(([message]) => message)).toEqual([
      expect.stringMatching(/"a", "both", "b", "outer" of graph "with lost branches"/),
    ]);
  });
});

describe("a node name with #", () => {
  const named = (name: string, around: (graph: Graph<string, string>) => Node<string, string>) => () =>
    compile((graph) => {
      const node = pass(graph, name);
      const next = around(graph);
      graph.edge(graph.start, node);
      graph.edge(node, next);
      graph.edge(next, graph.finish);
    });
  const parallel = (graph: Graph<string, string>) => graph.parallel("both", { a: pass(graph, "a") }, first);
  const within = (graph: Graph<string, string>) =>
    graph.subgraph<string, string>("inside", (inner) => alone(inner, parallel(inner)));

  it("is refused in a graph with parallel nodes or with subgraphs that have them", () => {
    for (const around of [parallel, within])
      expect(named("step#1", around)).toThrow(refused(/"step#1" contains "#".*name without "#"/));
  });

  it("stays allowed elsewhere, because stored runs of strategies use it", () => {
    expect(named("step#1", (graph) => pass(graph, "step#2"))().nodePaths).toEqual(["step#1", "step#2"]);
    const branch: Build = (graph) => {
      const steps = graph.subgraph<string, string>("steps", (inner) => alone(inner, pass(inner, "step#1")));
      alone(graph, graph.parallel("both", { steps }, first));
    };
    expect(compile(branch).nodePaths).toEqual(["both", "steps/step#1"]);
  });
});

describe("the structure of a strategy with parallel nodes", () => {
  it("lists their branches, their start and their reaction to failures, as plain JSON", () => {
    const { structure } = compile((graph) => {
      const both = graph.parallel("both", { y: pass(graph, "a"), x: pass(graph, "b") }, { history: "fresh" }, first);
      const all = graph.each("all", pass(graph, "item"), { key: String, concurrency: 2, onFailure: "stop" }, String);
      graph.edge(graph.start, both);
      graph.edge(both, all, { map: (text) => [text] });
      graph.edge(all, graph.finish);
    });
    expect(JSON.parse(JSON.stringify(structure.nodes))).toEqual([
      { name: "a" },
      {
        name: "all",
        parallel: { branches: { kind: "each", node: "item", keyed: true }, history: "fork", onFailure: "stop" },
      },
      { name: "b" },
      {
        name: "both",
        parallel: {
          branches: {
            kind: "named",
            nodes: [
              { branch: "x", node: "b" },
              { branch: "y", node: "a" },
            ],
          },
          history: "fresh",
          onFailure: "finish",
        },
      },
      { name: "item" },
    ]);
  });

  it("does not depend on the order or concurrency of the branches", () => {
    const names = ["a", "b", "c", "d"];
    const built = (order: readonly string[], concurrency: number) =>
      compile((graph) => {
        const branches = Object.fromEntries(order.map((name) => [`of ${name}`, pass(graph, name)]));
        const all = graph.each("all", pass(graph, "item"), { concurrency }, String);
        graph.edge(graph.start, graph.parallel("both", branches, first), { when: () => false });
        graph.edge(graph.start, all, { map: (text) => [text] });
        graph.edge(all, graph.finish);
      }).structure;
    const shuffled = fc.shuffledSubarray(names, { minLength: names.length });
    fc.assert(
      fc.property(shuffled, fc.integer({ min: 1 }), (order, concurrency) => {
        expect(JSON.stringify(built(order, concurrency))).toBe(JSON.stringify(built(names, Infinity)));
      }),
      { numRuns: 30 },
    );
  });
});
