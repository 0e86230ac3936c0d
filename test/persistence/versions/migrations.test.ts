import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  storageKey,
  strategy,
  type MigratedLine,
  type Migration,
} from "agent-persistence";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { isCrash } from "../support/causesOf.ts";
import { Stopped } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";
import { base, built, type PlaceOptions, places, type Spec, type Stop } from "./support/Spec.ts";
import { renamedNode } from "./support/changes.ts";

const after: Spec = { ...renamedNode("two", "second"), version: 1 };

describe.each(logStorages)("$name:", (storage) => {
  describe.each(places)("in $name, a renamed node of a stopped run", (place) => {
    const migrations = [{ from: 0, to: 1, nodes: { [place.path("two")]: place.path("second") } }];
    async function stopped(at = "two") {
      const opened = await storage.open();
      const stop: Stop = { at };
      await expect(place.agent(base, stop, opened()).run("in")).rejects.toThrow("stopped");
      stop.at = undefined;
      const agent = (spec: Spec, options?: PlaceOptions) => place.agent(spec, stop, opened(), options);
      return { agent, stop };
    }

    it("makes the resume fail without a migration, and changes nothing", async () => {
      const { agent } = await stopped();
      await expect(agent(after).resume()).rejects.toMatchObject({ code: "strategy_changed" });
      await expect(agent(base).resume()).resolves.toMatchObject({ status: "completed" });
    });

    it("continues under the new name with a migration, and refuses the old code from then on", async () => {
      const { agent, stop } = await stopped();
      stop.at = "second";
      const options = { migrations };
      await expect(agent(after, options).resume()).rejects.toThrow("stopped");
      const told: string[] = [];
      await expect(agent(base).resume()).rejects.toMatchObject({ code: "strategy_changed" });
      stop.at = undefined;
      const result = await agent(after, { ...options, onEvent: ({ type }) => void told.push(type) }).resume();
      expect(result).toMatchObject({ status: "completed" });
      expect(told).not.toContain("run_migrated");
    });

    it.each(["one", "a", "x", "item", "three"])("is migrated if the run stopped at %s", async (at) => {
      const { agent } = await stopped(at);
      const whole = place.agent(
        at === "one" ? after : base,
        { at: undefined },
        new InMemoryPersistenceStorageProvider(),
      );
      const { status, output } = (await whole.run("in")) as { status: string; output: string };
      await expect(agent(after, { migrations }).resume()).resolves.toMatchObject({ status, output });
    });
  });

  it.each(places)(
    "in $name, a crash at any write of a migrating resume is repaired by the next resume",
    async (place) => {
      const renamed = place.path("second");
      const options = { migrations: [{ from: 0, to: 1, nodes: { [place.path("two")]: renamed } }] };
      const [asBefore, asAfter] = [new Set<number>(), new Set<number>()];
      for (let saves = 0, crashed = true; crashed; saves++) {
        const opened = await storage.open();
        const stop: Stop = { at: "two" };
        await expect(place.agent(base, stop, opened()).run("in")).rejects.toThrow("stopped");
        stop.at = undefined;
        const before = await recordsOf(opened());
        const resume = place.agent(after, stop, crashAfter(opened(), saves), options).resume();
        crashed = isCrash(await resume.catch((error: unknown) => error));
        const left = await recordsOf(opened());
        const migrated = left.filter((record) => (record as { readonly move?: string }).move === "migration");
        if (migrated.length === 0) expect(left).toEqual(before);
        (migrated.length === 0 ? asBefore : asAfter).add(migrated.length);
        const agent = place.agent(after, stop, opened(), options);
        await expect(agent.resume({ agentId: "a" })).resolves.toMatchObject({ status: "completed", output: "iinit" });
        const all = await persistence(agent).agent("a").getCheckpoints();
        expect(all.filter(({ nodeId, move }) => nodeId === renamed && move === "migration")).toHaveLength(1);
      }
      // All lines migrate in one append.
      expect([asBefore.size, asAfter.size]).toEqual([1, 1]);
    },
  );

  it("the shortest chain is taken, and each migration gets the line of the previous one", async () => {
    const opened = await storage.open();
    const stop: Stop = { at: "two" };
    const [place] = places;
    if (!place) throw new Error();
    await expect(place.agent(base, stop, opened()).run("in")).rejects.toBeInstanceOf(Stopped);
    const seen: unknown[] = [];
    const step = (from: number, to: number, more: Partial<Migration> = {}): Migration => ({
      from,
      to,
      migrate: (line) => {
        seen.push([from, to, line.nodeId, line.lastInput]);
        return { ...line, lastInput: `${String(line.lastInput)}.`, storage: { ...line.storage, [`v${to}`]: to } };
      },
      ...more,
    });
    const spec: Spec = { ...renamedNode("two", "second"), version: 3 };
    const chain = [step(0, 1), step(1, 2), step(2, 3), step(0, 2, { nodes: { two: "zwei" } }), step(2, 3)].slice(0, 4);
    chain[2] = step(2, 3, { nodes: { zwei: "second" } });
    stop.at = undefined;
    const agent = place.agent(spec, stop, opened(), { migrations: chain });
    await expect(agent.resume()).resolves.toMatchObject({ status: "completed" });
    expect(seen).toEqual(
      [
        [0, 2, "zwei", "ino"],
        [2, 3, "second", "ino."],
      ].map(([from, to, node, input]) => [from, to, from === 0 ? "zwei" : node, input]),
    );
    const checkpoints = await persistence(agent).agent().getCheckpoints();
    const migrated = checkpoints.filter(({ trigger, move }) => (move ?? trigger) === "migration");
    expect(migrated).toMatchObject([{ nodeId: "second", lastInput: "ino..", storage: { v2: 2, v3: 3 } }]);
    expect(checkpoints.at(-1)?.storage).toEqual({ v2: 2, v3: 3 });
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no way");
      },
      "no way",
    ],
    ["names no node", (line: object) => ({ ...line, nodeId: "nowhere" }), "nowhere"],
    ["ends an unfinished line", (line: object) => ({ ...line, nodeId: "finish" }), "finish"],
    ["gives an input that the node refuses", (line: object) => ({ ...line, lastInput: 5 }), "second"],
    ["gives a value that cannot be stored", (line: object) => ({ ...line, storage: { a: () => 1 } }), "storage"],
    ["returns undefined", () => undefined, "returned"],
    ["offers an unknown tool", (line: object) => ({ ...line, tools: ["gone"] }), "gone"],
  ])("a migration that %s changes nothing", async (_what, migrate, reason) => {
    const opened = await storage.open();
    const stop: Stop = { at: "two" };
    const [place] = places;
    if (!place) throw new Error();
    await expect(place.agent(base, stop, opened()).run("in")).rejects.toThrow("stopped");
    stop.at = undefined;
    const before = await persistence(place.agent(base, stop, opened()))
      .agent("a")
      .getCheckpoints();
    const spec = {
      ...after,
      nodes: after.nodes.map((node) => (node.name === "second" ? { ...node, input: z.string() } : node)),
    };
    const wrong = {
      migrations: [{ from: 0, to: 1, nodes: { two: "second" }, migrate: migrate as NonNullable<Migration["migrate"]> }],
    };
    await expect(place.agent(spec, stop, opened(), wrong).resume()).rejects.toThrow(reason);
    expect(
      await persistence(place.agent(base, stop, opened()))
        .agent("a")
        .getCheckpoints(),
    ).toEqual(before);
    await expect(place.agent(base, stop, opened()).resume()).resolves.toMatchObject({ status: "completed" });
  });

  it("one of several agents migrates a run that they resume at once", async () => {
    const opened = await storage.open();
    const [place] = places;
    if (!place) throw new Error();
    const stop: Stop = { at: "two" };
    await expect(place.agent(base, stop, opened()).run("in")).rejects.toThrow("stopped");
    stop.at = undefined;
    const options = { migrations: [{ from: 0, to: 1, nodes: { two: "second" } }] };
    const agents = Array.from({ length: 10 }, () => place.agent(after, stop, opened(), options));
    const ends = await Promise.allSettled(agents.map((agent) => agent.resume()));
    for (const end of ends) {
      if (end.status === "fulfilled") expect(end.value).toMatchObject({ status: "completed" });
      else expect(end.reason).toMatchObject({ code: "agent_busy" });
    }
    expect(ends.some(({ status }) => status === "fulfilled")).toBe(true);
    const checkpoints = await persistence(agents[0]!).agent("a").getCheckpoints();
    expect(checkpoints.filter(({ nodeId }) => nodeId === "second")).toHaveLength(1);
  });

  it("a rollback to a checkpoint before a migration migrates again from there", async () => {
    const opened = await storage.open();
    const stop: Stop = { at: "two" };
    const [place] = places;
    if (!place) throw new Error();
    await expect(place.agent(base, stop, opened()).run("in")).rejects.toThrow("stopped");
    const first = await persistence(place.agent(base, stop, opened()))
      .agent("a")
      .getLatestCheckpoint();
    let migrated = 0;
    const options = {
      migrations: [{ from: 0, to: 1, nodes: { two: "second" }, migrate: (line: MigratedLine) => (migrated++, line) }],
    };
    stop.at = "three";
    const agent = () => place.agent(after, stop, opened(), options);
    await expect(agent().resume()).rejects.toThrow("stopped");
    expect(migrated).toBe(1);
    stop.at = undefined;
    await persistence(agent())
      .agent()
      .rollbackToCheckpoint(first?.checkpointId ?? "");
    await expect(agent().resume()).resolves.toMatchObject({ status: "completed" });
    expect(migrated).toBe(2);
    // A branch from there, too.
    await expect(agent().resume({ agentId: "a", checkpointId: first?.checkpointId ?? "" })).resolves.toMatchObject({
      status: "completed",
    });
    expect(migrated).toBeGreaterThan(2);
  });

  it.each(["a rollback", "setExecutionPoint"])("%s by new code resolves strategy_changed", async (move) => {
    const opened = await storage.open();
    const stop: Stop = { at: "three" };
    const [place] = places;
    if (!place) throw new Error();
    await expect(place.agent(base, stop, opened()).run("in")).rejects.toThrow("stopped");
    stop.at = undefined;
    const agent = place.agent({ ...base, tools: [] }, stop, opened());
    const outside = persistence(agent).agent("a");
    await expect(agent.resume()).rejects.toMatchObject({ code: "strategy_changed" });
    const earlier = (await outside.getCheckpoints()).find(({ nodeId }) => nodeId === "two");
    if (move === "a rollback") await outside.rollbackToCheckpoint(earlier?.checkpointId ?? "");
    else await outside.setExecutionPoint({ nodeId: "two", input: "in" });
    // The tools that the model was offered are gone.
    await expect(agent.resume()).rejects.toMatchObject({ code: "unknown_tool" });
    await expect(place.agent(base, stop, opened()).resume()).resolves.toMatchObject({ status: "completed" });
  });
});

describe.each(logStorages)("$name: checkMigrations", (storage) => {
  it("returns a verdict for each unfinished agent without owning or writing", async () => {
    const opened = await storage.open();
    const [place] = places;
    if (!place) throw new Error();
    const stop: Stop = { at: "two" };
    const agentOf = (spec: Spec, options?: PlaceOptions) => place.agent(spec, stop, opened(), options);
    await expect(agentOf(base).run("in", { agentId: "at" })).rejects.toThrow("stopped");
    stop.at = "three";
    await expect(agentOf(base).run("in", { agentId: "after" })).rejects.toThrow("stopped");
    stop.at = undefined;
    await agentOf(base).run("in", { agentId: "done" });
    const before = await Promise.all(
      ["at", "after"].map((id) => persistence(agentOf(base)).agent(id).getCheckpoints()),
    );
    const migrations = [{ from: 0, to: 1, nodes: { two: "second" } }];
    const throwing = [{ ...migrations[0], migrate: () => Promise.reject(new Error("no way")) }] as readonly Migration[];
    const verdicts = async (spec: Spec, options?: PlaceOptions) => {
      const found: Record<string, unknown> = {};
      for await (const { agentId, verdict, differences } of persistence(agentOf(spec, options)).checkMigrations())
        found[agentId] = [verdict, differences];
      return found;
    };
    const same = ["same", []];
    expect(await verdicts(base)).toEqual({ at: same, after: same });
    const gone = expect.arrayContaining(['node "two" is gone', 'node "second" is new']) as unknown;
    expect(await verdicts(renamedNode("two", "second"))).toEqual({
      at: ["incompatible", gone],
      after: ["compatible", gone],
    });
    expect(await verdicts(after, { migrations })).toEqual({ at: ["migrates", []], after: ["migrates", []] });
    expect(await verdicts(after, { migrations: throwing })).toMatchObject({
      at: ["incompatible", ["The migration from version 0 to 1 threw: no way"]],
    });
    const only = persistence(agentOf(base)).checkMigrations({ only: ({ agentId }) => agentId === "at" });
    const listed: string[] = [];
    for await (const { agentId } of only) listed.push(agentId);
    expect(listed).toEqual(["at"]);
    const now = await Promise.all(["at", "after"].map((id) => persistence(agentOf(base)).agent(id).getCheckpoints()));
    expect(now).toEqual(before);
  });
});

describe("invalid migrations are refused in the configuration", () => {
  const graph = () => built("s", { ...base, version: 3 }, { at: undefined });
  const [place] = places;
  it.each([
    [
      "a gap",
      [
        { from: 0, to: 1 },
        { from: 2, to: 3 },
      ],
      "no migration begins at 1",
    ],
    ["a step back", [{ from: 1, to: 0 }], "a version after 1"],
    ["a circle of one", [{ from: 1, to: 1 }], "a version after 1"],
    ["a version that the strategy has not reached", [{ from: 3, to: 4 }], "at most 3"],
    [
      "two ways between the same versions",
      [
        { from: 2, to: 3 },
        { from: 2, to: 3 },
      ],
      "found several",
    ],
    [
      "a node that the strategy does not have",
      [{ from: 2, to: 3, nodes: { a: "nowhere" } }],
      'node, received "nowhere"; the strategy has "deep/a"',
    ],
    [
      "a tool that the agent does not have",
      [{ from: 2, to: 3, tools: { pay: "payOut" } }],
      'tool, received "payOut"; the agent has "lookUp"',
    ],
    ["an invalid version", [{ from: 0.5, to: 3 }], "a whole number"],
    ["a misspelled option", [{ from: 2, to: 3, node: {} }], "node"],
  ])("%s", (_what, wrong, expected) => {
    const install = () =>
      place?.agent({ ...base, version: 3 }, { at: undefined }, new InMemoryPersistenceStorageProvider(), {
        migrations: wrong,
      });
    expect(install).toThrow(expected);
    expect(install).toThrow(expect.objectContaining({ code: "invalid_input" }) as Error);
    expect(graph().version).toBe(3);
  });

  it.each([-1, 0.5, Infinity, "1", null])("the version %j of a strategy is refused", (version) => {
    const wrong = { version } as never;
    expect(() => strategy<string, string>("s", wrong, (graph) => graph.edge(graph.start, graph.finish))).toThrow(
      "a whole number",
    );
  });
});

describe("a migration that changes a map in place", () => {
  const tags = storageKey("tags", z.map(z.string(), z.number()));
  const counting = (version: number, stops: boolean) =>
    strategy<string, string>("counting", { version }, (graph) => {
      const first = graph.node("first", async (input: string, context) => {
        context.storage.set(tags, new Map([["a", 1]]));
        return input;
      });
      const second = graph.node("second", async (_input: string, context) => {
        if (stops) throw new Stopped();
        return JSON.stringify([...(context.storage.get(tags) ?? [])]);
      });
      graph.edge(graph.start, first);
      graph.edge(first, second);
      graph.edge(second, graph.finish);
    });
  const agentOf = (
    storage: InMemoryPersistenceStorageProvider,
    version: number,
    migrate?: (map: Map<string, number>) => void,
  ) =>
    new AIAgent({
      llmModel: "none",
      promptExecutor: scriptedModel([]),
      strategy: counting(version, version === 0),
    }).install(Persistence, {
      storage,
      migrations: migrate
        ? [
            {
              from: 0,
              to: 1,
              migrate: (line) => {
                migrate(line.storage["tags"] as Map<string, number>);
                return line;
              },
            },
          ]
        : [],
    });

  it("stores the change", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await expect(agentOf(storage, 0).run("in", { agentId: "a" })).rejects.toBeInstanceOf(Stopped);
    const agent = agentOf(storage, 1, (map) => map.set("b", 2));
    await expect(agent.resume({ agentId: "a" })).resolves.toMatchObject({ output: '[["a",1],["b",2]]' });
    const last = await persistence(agent).agent("a").getLatestCheckpoint();
    expect(last?.storage["tags"]).toEqual(
      new Map([
        ["a", 1],
        ["b", 2],
      ]),
    );
  });

  it("changes nothing if it then fails", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    await expect(agentOf(storage, 0).run("in", { agentId: "a" })).rejects.toBeInstanceOf(Stopped);
    let fails = true;
    const agent = agentOf(storage, 1, (map) => {
      map.set(`size ${map.size}`, 2);
      if (fails) throw new Error("no");
    });
    await expect(agent.resume({ agentId: "a" })).rejects.toMatchObject({ code: "migration_failed" });
    await expect(agent.resume({ agentId: "a" })).rejects.toMatchObject({ code: "migration_failed" });
    fails = false;
    await expect(agent.resume({ agentId: "a" })).resolves.toMatchObject({ output: '[["a",1],["size 1",2]]' });
  });
});
