import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  persistence,
  registerClass,
  storageKey,
  strategy,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent } from "./support/durableAgent.ts";
import { checkpointsOf, recordsOf } from "./support/stored.ts";
import { logStorages } from "./support/storages.ts";

const kilobyte = 1024;
const echo = strategy<string, string>("echo", (g) => g.edge(g.start, g.finish));

describe.each(logStorages)("$name: a value", (storage) => {
  it.each([
    ["10 KB is stored in the log", 10 * kilobyte, undefined],
    ["more than 10 KB is stored as a blob", 10 * kilobyte + 1, "plain"],
    ["100 KB is stored as a plain blob", 100 * kilobyte, "plain"],
    ["more than 100 KB is stored as a compressed blob", 100 * kilobyte + 1, "compressed"],
  ] as const)("of %s, and is restored unchanged", async (_name, bytes, expected) => {
    const opened = await storage.open();
    const agent = durableAgent(echo, opened());
    // JSON puts it between quotation marks.
    const value = "x".repeat(bytes - 2);
    expect(await agent.run(value)).toMatchObject({ output: value });
    const [blob] = JSON.stringify(await recordsOf(opened())).match(/blob:\/\/[0-9a-f]+-\d+(\.gz)?/) ?? [];
    const form = blob?.endsWith(".gz") ? "compressed" : "plain";
    expect(blob === undefined ? undefined : form).toBe(expected);
    const stored = blob === undefined ? undefined : (await opened().log.blobs.get("a", blob))?.length;
    if (expected === "plain") expect(stored).toBe(bytes);
    if (expected === "compressed") expect(stored).toBeLessThan(kilobyte);
    expect((await checkpointsOf(durableAgent(echo, opened()))).at(-1)?.lastInput).toBe(value);
  });
});

class Cart {
  readonly items: string[] = [];
  add(item: string): void {
    this.items.push(item);
  }
}
registerClass("test.values.Cart", Cart);

it.each([
  ["10 KB", Math.floor(10_238 / 6), undefined],
  ["more than 10 KB", Math.floor(10_238 / 6) + 1, expect.stringMatching(/^blob:/) as string],
])("a text with escaped characters of %s as JSON is stored as any other text", async (_size, length, expected) => {
  const provider = new InMemoryPersistenceStorageProvider();
  await durableAgent(echo, provider).run("\0".repeat(length));
  const [blob] = JSON.stringify(await recordsOf(provider)).match(/blob:\/\/[0-9a-f]+-\d+/) ?? [];
  expect(blob).toEqual(expected);
});

describe.each(logStorages)("$name: an input that a failed node has changed", (storage) => {
  it("is as stored when the same process resumes", async () => {
    const opened = await storage.open();
    const stored = opened();
    const seen: unknown[] = [];
    const changing = strategy<string, string>("changing", (graph) => {
      const first = graph.node("first", async (input: string) => ({ left: new Set([input]), cart: new Cart() }));
      const second = graph.node("second", async ({ left, cart }: { left: Set<string>; cart: Cart }) => {
        seen.push([...left, cart.items.length]);
        left.delete("one");
        cart.add("one");
        if (seen.length < 4) throw new Error("stopped");
        return "done";
      });
      graph.edge(graph.start, first);
      graph.edge(first, second);
      graph.edge(second, graph.finish);
    });
    const agent = durableAgent(changing, stored);
    await expect(agent.run("one", { agentId: "a" })).rejects.toThrow("stopped");
    for (let attempt = 2; attempt < 4; attempt++)
      await expect(agent.resume({ agentId: "a" })).rejects.toThrow("stopped");
    await expect(agent.resume({ agentId: "a" })).resolves.toMatchObject({ output: "done" });
    expect(seen).toEqual([
      ["one", 0],
      ["one", 0],
      ["one", 0],
      ["one", 0],
    ]);
  });
});

it("a checkpoint that a node changes does not change the run", async () => {
  const tags = storageKey("tags", z.set(z.string()));
  const changing = strategy<string, string>("changing", (graph) => {
    const first = graph.node("first", async (input: string, context) => {
      context.storage.set(tags, new Set(["a"]));
      return new Set([input]);
    });
    const second = graph.node("second", async (input: Set<string>, context) => {
      const saved = await persistence(context).createCheckpoint();
      (saved.storage["tags"] as Set<string>).add("b");
      (saved.lastInput as Set<string>).add("two");
      const { lastInput } = await persistence(context).createCheckpoint();
      return JSON.stringify([[...(context.storage.get(tags) ?? [])], [...input], [...(lastInput as Set<string>)]]);
    });
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, graph.finish);
  });
  const agent = durableAgent(changing, new InMemoryPersistenceStorageProvider());
  await expect(agent.run("one", { agentId: "a" })).resolves.toMatchObject({ output: '[["a"],["one"],["one"]]' });
});

describe("a set as the input of a node", () => {
  it("is stored as it was at the start of the node, even if the node changes it before a checkpoint", async () => {
    const seen: string[] = [];
    const changing = strategy<string, string>("changing", (graph) => {
      const first = graph.node("first", async (input: string) => new Set([input]));
      const second = graph.node("second", async (left: Set<string>, context) => {
        seen.push([...left].join());
        left.clear();
        await persistence(context).createCheckpoint();
        if (seen.length < 2) throw new Error("stopped");
        return "done";
      });
      graph.edge(graph.start, first);
      graph.edge(first, second);
      graph.edge(second, graph.finish);
    });
    const agent = durableAgent(changing, new InMemoryPersistenceStorageProvider());
    await expect(agent.run("one", { agentId: "a" })).rejects.toThrow("stopped");
    await expect(agent.resume({ agentId: "a" })).resolves.toMatchObject({ output: "done" });
    expect(seen).toEqual(["one", "one"]);
  });

  it("is part of an object that a node with an input schema can change", async () => {
    const counting = strategy<string, string>("counting", (graph) => {
      const first = graph.node("first", async (input: string) => ({ left: new Set([input]), count: 1 }));
      const input = z.object({ left: z.set(z.string()), count: z.number() });
      const second = graph.node("second", { input, output: z.string() }, async (given) => {
        given.count++;
        return String(given.count);
      });
      graph.edge(graph.start, first);
      graph.edge(first, second);
      graph.edge(second, graph.finish);
    });
    const agent = durableAgent(counting, new InMemoryPersistenceStorageProvider());
    await expect(agent.run("one", { agentId: "a" })).resolves.toMatchObject({ output: "2" });
  });

  it("is separate for each branch", async () => {
    const branching = strategy<string, string>("branching", (graph) => {
      const first = graph.node("first", async (input: string) => new Set([input]));
      const takes = async (left: Set<string>) => {
        const taken = [...left].join();
        left.clear();
        return taken;
      };
      const both = graph.parallel("both", { a: graph.node("a", takes), b: graph.node("b", takes) }, ({ a, b }) =>
        [a, b].join(),
      );
      graph.edge(graph.start, first);
      graph.edge(first, both);
      graph.edge(both, graph.finish);
    });
    const agent = durableAgent(branching, new InMemoryPersistenceStorageProvider());
    await expect(agent.run("one", { agentId: "a" })).resolves.toMatchObject({ output: "one,one" });
  });
});

class Tags extends Map<string, string> {
  first(): string | undefined {
    return this.keys().next().value;
  }
}

describe("an input that cannot be stored", () => {
  const cycle: { self?: unknown; depth: number } = { depth: 0 };
  cycle.self = cycle;
  let deep: object = {};
  for (let level = 0; level < 50_000; level++) deep = { deep };

  it.each([
    ["an instance of a class that extends Map", new Tags([["a", "b"]]), (input: Tags) => input.first(), "a"],
    ["a map with a key of its own", Object.assign(new Map(), { own: "a" }), (input: { own: string }) => input.own, "a"],
    ["a cycle", cycle, (input: { self: { self: unknown } }) => input.self.self === cycle, true],
    ["a deep object", deep, (input: object) => Object.keys(input), ["deep"]],
  ] as const)("reaches a node of an agent without Persistence: %s", async (_what, given, read, output) => {
    const passing = strategy<string, unknown>("passing", (graph) => {
      const first = graph.node("first", async (_input: string): Promise<unknown> => given);
      const second = graph.node("second", async (input: unknown) => (read as (input: unknown) => unknown)(input));
      graph.edge(graph.start, first);
      graph.edge(first, second);
      graph.edge(second, graph.finish);
    });
    const agent = new AIAgent({ llmModel: "none", promptExecutor: scriptedModel([]), strategy: passing });
    await expect(agent.run("one")).resolves.toMatchObject({ output });
  });
});
