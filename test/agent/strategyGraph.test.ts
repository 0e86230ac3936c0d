import { describe, expect, it, vi } from "vitest";
import { type Graph, type Node, strategy } from "../../src/agent/strategy/Strategy.ts";
import { StrategyGraph } from "../../src/agent/strategy/StrategyGraph.ts";
import { DuplicateNameError, InvalidStrategyError, UnknownNodeError } from "../../src/errors/strategyErrors.ts";

const pass = (graph: Graph<string, string>, name: string) => graph.node(name, (text: string) => text);
function counting(graph: Graph<string, string>): void {
  const count = pass(graph, "count");
  graph.edge(graph.start, count);
  graph.edge(count, graph.finish);
}

describe("a compiled strategy", () => {
  const handles: Record<string, Node<string, string>> = {};
  const shared = strategy<string, string>("shared", (graph) => {
    handles["shared"] = pass(graph, "inner");
    graph.edge(graph.start, handles["shared"]);
    graph.edge(handles["shared"], graph.finish);
  });
  const graph = new StrategyGraph(
    strategy<string, string>("outer", (outer) => {
      const first = (handles["first"] = pass(outer, "first"));
      const facts = outer.subgraph<string, string>("facts", (inner) => {
        counting(inner);
        inner.subgraph<string, string>("deep", (deepest) => {
          handles["only"] = pass(deepest, "only");
          deepest.edge(deepest.start, handles["only"]);
          deepest.edge(handles["only"], deepest.finish);
        });
      });
      outer.subgraph<string, string>("more", counting);
      outer.subgraph("a", shared);
      outer.subgraph("b", shared);
      outer.edge(outer.start, first);
      outer.edge(first, facts, { when: (text) => text !== "" });
      outer.edge(first, outer.finish, { map: (text) => text });
    }),
  );

  it("lists its nodes by path, sorted", () => {
    expect(graph.nodePaths).toEqual(["a/inner", "b/inner", "facts/count", "facts/deep/only", "first", "more/count"]);
  });

  it("finds a node by path, by unique name and by handle", () => {
    expect(graph.resolve("facts/count")).toBe("facts/count");
    expect(graph.resolve("first")).toBe("first");
    expect(graph.resolve("only")).toBe("facts/deep/only");
    expect(graph.resolve(handles["only"]!)).toBe("facts/deep/only");
    expect(graph.resolve(handles["first"]!)).toBe("first");
  });

  it("lists all nodes in the error for an unknown node", () => {
    expect(() => graph.resolve("nowhere")).toThrow(UnknownNodeError);
    expect(() => graph.resolve("nowhere")).toThrow(
      expect.objectContaining({ code: "unknown_node", nodeId: "nowhere", nodes: graph.nodePaths, ambiguous: false }),
    );
    expect(() => graph.resolve("facts")).toThrow(UnknownNodeError);
    expect(() => graph.resolve("deep/only")).toThrow(UnknownNodeError);
  });

  it("lists the paths of an ambiguous name or handle", () => {
    const paths = (list: readonly string[]) =>
      expect.objectContaining({ code: "unknown_node", nodes: list, ambiguous: true });
    expect(() => graph.resolve("count")).toThrow(paths(["facts/count", "more/count"]));
    expect(() => graph.resolve(handles["shared"]!)).toThrow(paths(["a/inner", "b/inner"]));
  });

  it("describes its structure as plain JSON, whatever the order of declaration", () => {
    const build = (swapped: boolean) =>
      new StrategyGraph(
        strategy<string, string>(swapped ? "one" : "another", (outer) => {
          const names = swapped ? ["y", "x"] : ["x", "y"];
          const [p, q] = names.map((name) => pass(outer, name));
          const [x, y] = swapped ? [q!, p!] : [p!, q!];
          outer.edge(outer.start, x, { when: () => true });
          outer.edge(outer.start, y, { map: (text) => text });
          outer.edge(x, outer.finish);
        }),
      ).structure;
    expect(build(true)).toEqual(build(false));
    expect(JSON.parse(JSON.stringify(build(true)))).toEqual({
      nodes: [{ name: "x" }, { name: "y" }],
      edges: [
        { from: "start", to: "x", ordinal: 0, conditional: true, mapped: false },
        { from: "start", to: "y", ordinal: 1, conditional: false, mapped: true },
        { from: "x", to: "finish", ordinal: 0, conditional: false, mapped: false },
      ],
    });
    expect(graph.structure.nodes.find(({ name }) => name === "facts")?.graph?.nodes.map(({ name }) => name)).toEqual([
      "count",
      "deep",
    ]);
  });
});

describe("a strategy graph", () => {
  it("refuses and names a repeated name in one graph", () => {
    const twice = (graph: Graph<string, string>) => {
      pass(graph, "same");
      graph.subgraph<string, string>("same", counting);
    };
    expect(() => strategy("s", twice)).toThrow(DuplicateNameError);
    expect(() => strategy("s", twice)).toThrow(
      expect.objectContaining({ code: "duplicate_node", within: "s", duplicateName: "same" }),
    );
  });

  it("allows the same name in two subgraphs", () => {
    const built = strategy<string, string>("s", (graph) => {
      const a = graph.subgraph<string, string>("a", counting);
      const b = graph.subgraph<string, string>("b", counting);
      graph.edge(graph.start, a);
      graph.edge(a, b);
      graph.edge(b, graph.finish);
    });
    expect(new StrategyGraph(built).nodePaths).toEqual(["a/count", "b/count"]);
  });

  it.each(["", "a/b", "start", "finish"])("refuses the name %j", (name) => {
    expect(() => strategy<string, string>("s", (graph) => void pass(graph, name))).toThrow(InvalidStrategyError);
  });

  it("refuses and names a graph whose finish cannot be reached, even a subgraph", () => {
    const open = (graph: Graph<string, string>) => graph.edge(graph.start, pass(graph, "open"));
    expect(() => strategy("s", open)).toThrow(expect.objectContaining({ code: "invalid_strategy", graph: "s" }));
    expect(() => strategy<string, string>("s", (graph) => void graph.subgraph("sub", open))).toThrow(
      expect.objectContaining({ code: "invalid_strategy", graph: "s/sub" }),
    );
  });

  it("refuses an edge to a node of another graph", () => {
    let stranger: Node<string, string> | undefined;
    strategy<string, string>("other", (graph) => {
      stranger = pass(graph, "stranger");
      graph.edge(graph.start, graph.finish);
    });
    expect(() => strategy<string, string>("s", (graph) => graph.edge(graph.start, stranger!))).toThrow(
      /"stranger" of another graph/,
    );
  });

  it.each<[string, RegExp, (graph: Graph<string, string>) => void]>([
    ["the name of the start", /"start".*graph\.start/, (graph) => graph.edge("start" as never, graph.finish as never)],
    ["the name of the finish", /"finish".*graph\.finish/, (graph) => graph.edge(graph.start, "finish" as never)],
    [
      "the name of a node",
      /"open".*what graph\.node\(…\) returned/,
      (graph) => graph.edge(graph.start, "open" as never),
    ],
    ["nothing", /undefined.*what graph\.node\(…\) returned/, (graph) => graph.edge(graph.start, undefined as never)],
  ])("refuses %s as a node of an edge, with advice", (_name, problem, wrong) => {
    expect(() => strategy<string, string>("s", wrong)).toThrow(InvalidStrategyError);
    expect(() => strategy<string, string>("s", wrong)).toThrow(problem);
  });

  it("refuses an edge after an unconditional edge, because it is never taken", () => {
    const never = (graph: Graph<string, string>) => {
      const late = pass(graph, "late");
      graph.edge(graph.start, graph.finish);
      graph.edge(graph.start, late, { when: (text) => text !== "" });
      graph.edge(late, graph.finish);
    };
    expect(() => strategy("s", never)).toThrow(InvalidStrategyError);
    expect(() => strategy("s", never)).toThrow(/from "start" to "late".*never taken.*"finish"/);
  });

  it("names nodes without incoming edges in a process warning, because only a move reaches them", () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const build = (graph: Graph<string, string>) => {
      counting(graph);
      const lost = pass(graph, "lost");
      graph.edge(lost, pass(graph, "after"));
    };
    strategy("with lost nodes", build);
    strategy("with lost nodes", build);
    strategy("without", counting);
    const calls: readonly unknown[][] = warned.mock.calls;
    warned.mockRestore();
    expect(calls).toEqual([
      [
        expect.stringMatching(/"lost", "after".*"with lost nodes".*setExecutionPoint/),
        expect.objectContaining({ code: "unreachable_node" }),
      ],
    ]);
  });

  it("refuses an edge from finish, an async build function, and changes after it was built", () => {
    expect(() => strategy<string, string>("s", (graph) => graph.edge(graph.finish, graph.finish))).toThrow(
      InvalidStrategyError,
    );
    const late = async (graph: Graph<string, string>) => {
      await Promise.resolve();
      counting(graph);
    };
    expect(() => strategy("s", late as (graph: Graph<string, string>) => void)).toThrow(/async/);
    let leaked: Graph<string, string> | undefined;
    strategy<string, string>("s", (graph) => {
      leaked = graph;
      counting(graph);
    });
    expect(() => counting(leaked!)).toThrow(InvalidStrategyError);
    expect(() => leaked!.edge(leaked!.start, leaked!.finish)).toThrow(InvalidStrategyError);
  });
});
