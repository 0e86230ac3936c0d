import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AIAgent } from "../../../src/agent/AIAgent.ts";
import type { AgentContext } from "../../../src/agent/context/AgentContext.ts";
import { storageKey } from "../../../src/agent/context/StorageKey.ts";
import { runOf } from "../../../src/agent/feature/ContextBinding.ts";
import { type Graph, strategy } from "../../../src/agent/strategy/Strategy.ts";
import { BranchConflictError, DuplicateNameError, IterationLimitError } from "../../../src/errors/strategyErrors.ts";
import { scriptedModel } from "../../../src/testing/doubles/scriptedModel.ts";
import { gate } from "../gate.ts";
import { otherRun } from "../otherRun.ts";

const found = storageKey("found", z.array(z.string()));
const count = storageKey("count", z.int());

/** An agent whose strategy is one node between start and finish. */
function agentOf<In, Out>(build: (graph: Graph<In, Out>) => Parameters<Graph<In, Out>["edge"]>[0], options = {}) {
  const built = strategy<In, Out>("test", (graph) => {
    const only = build(graph) as never;
    graph.edge(graph.start, only);
    graph.edge(only, graph.finish as never);
  });
  return new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "m", strategy: built, ...options });
}

async function outputOf<In, Out>(agent: AIAgent<In, Out>, input: In): Promise<Out> {
  const result = await agent.run(input);
  if (result.status !== "completed") throw new Error(`The run is ${result.status}.`);
  return result.output;
}

const said = (context: AgentContext) => context.llm.messages.map(({ content }) => content);

describe("branches", () => {
  it("run in parallel, and merge gets their outputs by name", async () => {
    const [a, b] = [gate<void>(), gate<void>()];
    const agent = agentOf<string, string>((graph) =>
      graph.parallel(
        "both",
        {
          a: graph.node("a", async (text: string) => (b.open(), await a.opened, `a ${text}`)),
          b: graph.node("b", async (text: string) => (a.open(), await b.opened, text.length)),
        },
        (results) => `${results.a}, ${results.b}`,
      ),
    );
    expect(await outputOf(agent, "hello")).toBe("a hello, 5");
  });

  it("continue at different speeds without waiting for each other", async () => {
    const slow = gate<void>();
    const agent = agentOf<number, string>((graph) => {
      const fast = graph.subgraph<number, string>("fast", (inner) => {
        const first = inner.node("first", (n: number) => n + 1);
        const second = inner.node("second", (n: number) => (slow.open(), String(n)));
        inner.edge(inner.start, first);
        inner.edge(first, second);
        inner.edge(second, inner.finish);
      });
      const waiting = graph.node("waiting", async (n: number) => (await slow.opened, String(n)));
      return graph.parallel("both", { fast, waiting }, (results) => results.fast + results.waiting);
    });
    expect(await outputOf(agent, 1)).toBe("21");
  });

  it("start with the history, storage and settings of the fork, and change only their copy", async () => {
    const agent = agentOf<string, unknown>(
      (graph) => {
        const branch = (name: string) =>
          graph.node(name, (_input: string, context: AgentContext) => {
            const begun = said(context);
            context.llm.append({ role: "user", content: name });
            context.llm.configure({ model: name });
            return [begun, said(context)];
          });
        return graph.parallel("both", { a: branch("a"), b: branch("b") }, (results, context) => ({
          ...results,
          merged: said(context),
          added: [context.branches.a.messages, context.branches.b.messages].map((list) => list.map((m) => m.content)),
        }));
      },
      { systemPrompt: "be brief" },
    );
    expect(await outputOf(agent, "go")).toEqual({
      a: [["be brief"], ["be brief", "a"]],
      b: [["be brief"], ["be brief", "b"]],
      merged: ["be brief"],
      added: [["a"], ["b"]],
    });
  });

  it('start with only the system prompt if their history is "fresh"', async () => {
    const built = strategy<string, unknown>("test", (graph) => {
      const ask = graph.node("ask", (text: string, context: AgentContext) => {
        context.llm.append({ role: "user", content: text });
        return text;
      });
      const a = graph.node("a", (_text: string, context: AgentContext) => said(context));
      const both = graph.parallel("both", { a }, { history: "fresh" }, ({ a: begun }, context) => [
        begun,
        said(context),
      ]);
      graph.edge(graph.start, ask);
      graph.edge(ask, both);
      graph.edge(both, graph.finish);
    });
    const agent = new AIAgent({
      promptExecutor: scriptedModel([]),
      llmModel: "m",
      strategy: built,
      systemPrompt: "be brief",
    });
    expect(await outputOf(agent, "go")).toEqual([["be brief"], ["be brief", "go"]]);
  });

  it("are identified to features by their path at any depth", async () => {
    const paths: unknown[] = [];
    const note = (_input: unknown, context: AgentContext) => {
      const { branch, parent } = runOf(context);
      paths.push([context.nodeId, branch, parent?.branch]);
    };
    const agent = agentOf<string, void>((graph) => {
      const deep = graph.subgraph<string, void>("deep", (inner) => {
        const both = inner.parallel("inner", { x: inner.node("x", note) }, note);
        inner.edge(inner.start, both);
        inner.edge(both, inner.finish);
      });
      return graph.parallel("outer", { deep, plain: graph.node("plain", note) }, note);
    });
    await agent.run("go");
    expect(paths).toEqual([
      ["plain", "outer#plain", undefined],
      ["deep/x", "outer#deep/inner#x", "outer#deep"],
      ["deep/inner", "outer#deep", undefined],
      ["outer", undefined, undefined],
    ]);
  });
});

describe("each", () => {
  it("runs one branch per item up to its concurrency, with results in the order of the items", async () => {
    let [running, most] = [0, 0];
    const agent = agentOf<readonly number[], readonly number[]>((graph) =>
      graph.each(
        "all",
        graph.node("double", async (n: number) => {
          most = Math.max(most, ++running);
          for (let turn = 0; turn < 10 - n; turn++) await Promise.resolve();
          running--;
          return 2 * n;
        }),
        { concurrency: 3 },
        (results) => results,
      ),
    );
    expect(await outputOf(agent, [1, 2, 3, 4, 5, 6, 7])).toEqual([2, 4, 6, 8, 10, 12, 14]);
    expect(most).toBe(3);
  });

  it("merges at once if the list is empty", async () => {
    const agent = agentOf<readonly number[], number>((graph) =>
      graph.each(
        "all",
        graph.node("one", (n: number) => n),
        (results) => results.length,
      ),
    );
    expect(await outputOf(agent, [])).toBe(0);
  });

  it("refuses two items with one key without running any", async () => {
    const seen: string[] = [];
    const agent = agentOf<readonly string[], number>((graph) =>
      graph.each(
        "all",
        graph.node("one", (text: string) => seen.push(text)),
        { key: (text) => text },
        () => 0,
      ),
    );
    await expect(agent.run(["a", "b", "a"])).rejects.toThrow(DuplicateNameError);
    expect(seen).toEqual([]);
  });
});

describe("the storage after a join", () => {
  const storing = (a: number | undefined, b: number | undefined, merge?: (context: AgentContext) => void) =>
    agentOf<string, number | undefined>((graph) => {
      const branch = (name: string, value: number | undefined) =>
        graph.node(name, (_input: string, context: AgentContext) => {
          if (value !== undefined) context.storage.set(count, value);
        });
      return graph.parallel("both", { a: branch("a", a), b: branch("b", b) }, (_results, context) => {
        merge?.(context);
        return context.storage.get(count);
      });
    });

  it("has the value that one branch changed or that several changed alike", async () => {
    expect(await outputOf(storing(1, undefined), "go")).toBe(1);
    expect(await outputOf(storing(2, 2), "go")).toBe(2);
  });

  it("is refused if branches differ and merge does not decide", async () => {
    await expect(storing(1, 2).run("go")).rejects.toThrow(BranchConflictError);
    await expect(storing(1, 2).run("go")).rejects.toMatchObject({ branchesByKey: { count: ["a", "b"] } });
  });

  it("has the value that merge sets", async () => {
    expect(
      await outputOf(
        storing(1, 2, ({ storage }) => storage.set(count, 3)),
        "go",
      ),
    ).toBe(3);
    expect(
      await outputOf(
        storing(1, 2, ({ storage }) => storage.delete(count)),
        "go",
      ),
    ).toBeUndefined();
  });

  it("is taken from the branch that merge adopts, with its history and settings", async () => {
    const agent = agentOf<string, unknown>((graph) => {
      const branch = (name: string) =>
        graph.node(name, (_input: string, context: AgentContext) => {
          context.storage.set(found, [name]);
          context.llm.append({ role: "user", content: name });
          context.llm.configure({ model: name });
        });
      return graph.parallel("both", { a: branch("a"), b: branch("b") }, (_results, context) => {
        context.branches.b.adopt();
        return [context.storage.get(found), said(context), runOf(context).state.settings.model];
      });
    });
    expect(await outputOf(agent, "go")).toEqual([["b"], ["b"], "b"]);
  });

  it("is taken from the last adopted branch, without earlier changes of merge", async () => {
    const agent = agentOf<string, unknown>((graph) => {
      const branch = (name: string) =>
        graph.node(name, (_input: string, context: AgentContext) => {
          context.storage.set(found, [name]);
          context.llm.append({ role: "user", content: name });
          if (name === "a") context.llm.configure({ parameters: { temperature: 1 } });
        });
      return graph.parallel("both", { a: branch("a"), b: branch("b") }, (_results, context) => {
        context.storage.set(count, 1);
        context.llm.append({ role: "user", content: "merge" });
        context.branches.a.adopt();
        context.branches.b.adopt();
        const { parameters } = runOf(context).state.settings;
        return [context.storage.get(found), context.storage.get(count), said(context), parameters];
      });
    });
    expect(await outputOf(agent, "go")).toEqual([["b"], undefined, ["b"], undefined]);
  });

  it("ignores changes after merge has returned", async () => {
    const late: (() => unknown)[] = [];
    const agent = agentOf<string, unknown>((graph) => {
      const a = graph.node("a", (_input: string, { storage }: AgentContext) => storage.set(count, 1));
      return graph.parallel("both", { a }, (_results, { branches, storage }) => {
        late.push(
          () => branches.a.adopt(),
          () => storage.set(count, 2),
          () => storage.delete(count),
        );
        return storage.get(count);
      });
    });
    expect(await outputOf(agent, "go")).toBe(1);
    expect(late).toHaveLength(3);
    for (const each of late) expect(each).toThrow(expect.objectContaining({ code: "run_moved", nodeId: "both" }));
  });

  it("omits a key that the adopted branch never had, even if others disagree on it", async () => {
    const agent = agentOf<string, number | undefined>((graph) => {
      const branch = (name: string, value: number) =>
        graph.node(name, (_input: string, { storage }: AgentContext) => storage.set(count, value));
      const c = graph.node("c", () => {});
      return graph.parallel("all", { a: branch("a", 1), b: branch("b", 2), c }, (_results, context) => {
        context.branches.c.adopt();
        return context.storage.get(count);
      });
    });
    expect(await outputOf(agent, "go")).toBeUndefined();
  });
});

describe("a failing branch", () => {
  it("fails the run with the first error once the other branches have finished", async () => {
    const [failed, ended] = [gate<void>(), gate<void>()];
    const agent = agentOf<string, void>((graph) =>
      graph.parallel(
        "both",
        {
          a: graph.node("a", () => {
            failed.open();
            throw new Error("a failed");
          }),
          b: graph.node("b", async () => (await failed.opened, ended.open())),
        },
        () => {},
      ),
    );
    await expect(agent.run("go")).rejects.toThrow("a failed");
    await ended.opened;
  });

  it('stops the others after their current nodes with onFailure "stop"', async () => {
    const seen: string[] = [];
    const [failed, begun] = [gate<void>(), gate<void>()];
    const agent = agentOf<string, void>((graph) => {
      const b = graph.subgraph<string, void>("b", (inner) => {
        const first = inner.node("first", async () => {
          begun.open();
          await failed.opened;
          await otherRun();
          seen.push("first");
        });
        const second = inner.node("second", () => void seen.push("second"));
        inner.edge(inner.start, first);
        inner.edge(first, second);
        inner.edge(second, inner.finish);
      });
      const a = graph.node("a", async () => {
        await begun.opened;
        queueMicrotask(() => failed.open());
        throw new Error("a failed");
      });
      return graph.parallel("both", { a, b }, { onFailure: "stop" }, () => {});
    });
    await expect(agent.run("go")).rejects.toThrow("a failed");
    expect(seen).toEqual(["first"]);
  });

  it.each([[[1]], [[1, 2, 3]]])('starts no nested branch or merge with onFailure "stop", for %j', async (items) => {
    const seen: unknown[] = [];
    const [failed, begun] = [gate<void>(), gate<void>()];
    const agent = agentOf<readonly number[], void>((graph) => {
      const b = graph.subgraph<readonly number[], void>("b", (inner) => {
        const one = inner.node("one", async (item: number) => {
          begun.open();
          await failed.opened;
          await otherRun();
          seen.push(item);
        });
        const all = inner.each("all", one, { concurrency: 1 }, () => void seen.push("merged"));
        inner.edge(inner.start, all);
        inner.edge(all, inner.finish);
      });
      const a = graph.node("a", async (_items: readonly number[]) => {
        await begun.opened;
        queueMicrotask(() => failed.open());
        throw new Error("a failed");
      });
      return graph.parallel("both", { a, b }, { onFailure: "stop" }, () => {});
    });
    await expect(agent.run(items)).rejects.toThrow("a failed");
    expect(seen).toEqual([1]);
  });
});

it("nodes of all branches count against maxIterations together", async () => {
  const loop = (n: number) =>
    agentOf<readonly number[], number>(
      (graph) =>
        graph.each(
          "all",
          graph.node("one", (item: number) => item),
          (results) => results.length,
        ),
      { maxIterations: n },
    );
  expect(await outputOf(loop(6), [1, 2, 3, 4, 5])).toBe(5);
  await expect(loop(5).run([1, 2, 3, 4, 5])).rejects.toThrow(IterationLimitError);
});
