import { type AgentContext, persistence, RollbackToolRegistry, strategy } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { processOwner } from "../../../src/storage/ReleasableLog.ts";
import { asking, unfinishedOf } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { fileStorage, memory } from "../support/storages.ts";
import { World } from "../support/World.ts";
import { soonerClock } from "../../internal/soonerClock.ts";

const echo = asking(async (input) => `on ${input}`);

/** Asks a person about the input "ask". */
const careful = asking(async (input, context) =>
  input === "ask" ? String(await context.requestInput({ prompt: "ok?", schema: z.boolean() })) : `on ${input}`,
);

/** Waits longer than `vi.waitFor` by default, because other suites keep the machine busy. */
const until = (check: () => void) => vi.waitFor(check, { timeout: 60_000 });

function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}

describe.each([memory, fileStorage(soonerClock)])("$name: a run of an agent with another owner", (storage) => {
  /** An agent that another operation owns until the release. `refused` resolves when so many attempts to own it failed. */
  async function owned(
    built = echo,
    prepare: (agent: ReturnType<typeof durableAgent>) => Promise<unknown> = async () => 0,
  ) {
    const provider = (await storage.open())() as LogPersistenceStorageProvider;
    const agent = durableAgent(built, provider, { clock: soonerClock });
    await prepare(agent);
    const owner = await provider.log.open("a", processOwner());
    const opens = vi.spyOn(provider.log, "open");
    const refused = (count = 1) =>
      until(() => {
        const found = opens.mock.settledResults.filter(({ type }) => type === "rejected");
        expect(found.length).toBeGreaterThanOrEqual(count);
      });
    return { agent, provider, refused, release: () => owner.release() };
  }

  it("starts after another one, if both replace a run", async () => {
    const { agent, refused, release } = await owned();
    const first = agent.run("one", { runId: "one", whenBusy: "replace" });
    const second = agent.run("two", { runId: "two", whenBusy: "replace" });
    first.catch(() => undefined);
    await refused();
    await release();
    expect(await second).toMatchObject({ output: "on two" });
    const [end] = await Promise.allSettled([first]);
    expect(end.status === "fulfilled" || (end.reason as { code: string }).code === "stop_requested").toBe(true);
  });

  it.each(["queue", "join"] as const)(
    "starts before a waiting call with %s, if it replaces a run",
    async (whenBusy) => {
      const { agent, refused, release } = await owned();
      const waiting = agent.run("one", { runId: "one", whenBusy });
      await refused();
      const replacing = agent.run("two", { runId: "two", whenBusy: "replace" });
      await refused(2);
      await release();
      expect(await replacing).toMatchObject({ output: "on two" });
      expect(await waiting).toMatchObject({ status: "completed" });
    },
  );

  it("ends the wait for an earlier replacement when it is aborted", async () => {
    const { agent, refused, release } = await owned();
    const leaving = new AbortController();
    const { signal } = leaving;
    const queued = agent.run("one", { runId: "one", whenBusy: "queue", signal });
    await refused();
    const first = agent.run("two", { runId: "two", whenBusy: "replace" });
    const second = agent.run("three", { runId: "three", whenBusy: "replace", signal });
    await refused(2);
    leaving.abort(new Error("gone"));
    await Promise.all([queued, second].map((each) => expect(each).rejects.toThrow("gone")));
    await release();
    expect(await first).toMatchObject({ output: "on two" });
  });

  it("is refused with replace, if the last run waits for a person", async () => {
    const { agent, refused, release } = await owned(careful, (own) => own.run("ask"));
    const next = agent.run("next", { whenBusy: "replace" });
    await refused();
    await release();
    await expect(next).rejects.toMatchObject({ code: "unfinished_run" });
    expect(await unfinishedOf(agent)).toEqual(["waiting"]);
  });

  it("uses its own input with join, if the last run has ended", async () => {
    const { agent, refused, release } = await owned(echo, (own) => own.run("old"));
    const next = agent.run("new", { runId: "new", whenBusy: "join" });
    await refused();
    await release();
    expect(await next).toMatchObject({ runId: "new", output: "on new" });
  });

  it("returns the recorded result with join, if the run with its id has ended", async () => {
    const { agent, refused, release } = await owned(echo, (own) => own.run("old", { runId: "old" }));
    const next = agent.run("old", { runId: "old", whenBusy: "join" });
    await refused();
    await release();
    expect(await next).toMatchObject({ runId: "old", output: "on old" });
  });
});

it("uses its own input with join, while another call reads the result of an earlier run", async () => {
  const agent = durableAgent(echo, (await memory.open())());
  await agent.run("old", { runId: "old" });
  const again = agent.run("old", { runId: "old" });
  const next = agent.run("new", { runId: "new", whenBusy: "join" });
  expect(await again).toMatchObject({ output: "on old" });
  expect(await next).toMatchObject({ runId: "new", output: "on new" });
});

it("returns the result of a run in another process to every joining call", async () => {
  const open = await fileStorage(soonerClock).open();
  const started = gate();
  const end = gate();
  const held = asking(async (input) => {
    started.open();
    await end.opened;
    return `on ${input}`;
  });
  const [here, there] = [open(), open()] as [LogPersistenceStorageProvider, LogPersistenceStorageProvider];
  const run = durableAgent(held, here, { clock: soonerClock }).run("one", { runId: "one" });
  await started.opened;
  const opens = vi.spyOn(there.log, "open");
  const agent = durableAgent(held, there, { clock: soonerClock });
  const joined = [agent.run("two", { whenBusy: "join" }), agent.run("three", { whenBusy: "join" })];
  // The second attempt follows the reaction to the first one.
  await until(() => expect(opens.mock.calls.length).toBeGreaterThan(1));
  end.open();
  const result = { runId: "one", output: "on one" };
  expect(await Promise.all([run, ...joined])).toMatchObject([result, result, result]);
});

it("runs a call without join whose runId is that of a call that joined another run", async () => {
  const open = await fileStorage(soonerClock).open();
  const [started, end] = [gate(), gate()];
  const held = asking(async (input) => {
    started.open();
    await end.opened;
    return `on ${input}`;
  });
  const [here, there] = [open(), open()] as [LogPersistenceStorageProvider, LogPersistenceStorageProvider];
  const run = durableAgent(held, here, { clock: soonerClock }).run("one", { runId: "one" });
  await started.opened;
  const opens = vi.spyOn(there.log, "open");
  const agent = durableAgent(held, there, { clock: soonerClock });
  const joined = agent.run("two", { runId: "two", whenBusy: "join" });
  const own = agent.run("two", { runId: "two" });
  await until(() => expect(opens.mock.calls.length).toBeGreaterThan(1));
  end.open();
  const result = { runId: "one", output: "on one" };
  expect(await Promise.all([run, joined])).toMatchObject([result, result]);
  expect(await own).toMatchObject({ runId: "two", output: "on two" });
});

it("does not stop a rollback with replace", async () => {
  const world = new World();
  const book = world.adder("book");
  const reverting = gate();
  const reverted = gate();
  const registry = new RollbackToolRegistry();
  registry.registerRollback(book, async () => {
    reverting.open();
    await reverted.opened;
  });
  const built = strategy<string, string>("booking", (g) => {
    const node = g.node("book", async (input: string, { tools }: AgentContext) => {
      await tools.call(book, { item: input });
      return input;
    });
    g.edge(g.start, node);
    g.edge(node, g.finish);
  });
  const provider = (await memory.open())() as LogPersistenceStorageProvider;
  const agent = durableAgent(built, provider, { tools: [book], registry, clock: soonerClock });
  await agent.run("one");
  const durable = persistence(agent).agent("a");
  const [start] = await durable.getCheckpoints();
  const rollback = durable.rollbackToCheckpoint(start?.checkpointId ?? "");
  await reverting.opened;
  const opens = vi.spyOn(provider.log, "open");
  const next = agent.run("next", { whenBusy: "replace" });
  await until(() => expect(opens.mock.settledResults.map(({ type }) => type)).toContain("rejected"));
  // The second attempt follows the reaction to the first one.
  await until(() => expect(opens.mock.calls.length).toBeGreaterThan(1));
  reverted.open();
  expect(await rollback).toMatchObject({ reverted: [{ toolName: "book" }] });
  await expect(next).rejects.toMatchObject({ code: "unfinished_run" });
});

it("does not continue a run with join that stop() has paused", async () => {
  const open = await fileStorage(soonerClock).open();
  const started = gate();
  const waiting = asking(async (input, { signal }) => {
    started.open();
    await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    return input;
  });
  const [here, there] = [open(), open()] as [LogPersistenceStorageProvider, LogPersistenceStorageProvider];
  const agent = durableAgent(waiting, here, { clock: soonerClock });
  const run = agent.run("one", { runId: "one" });
  run.catch(() => undefined);
  await started.opened;
  const stopped = gate();
  const openThere = there.log.open.bind(there.log);
  const opens = vi.spyOn(there.log, "open").mockImplementation(async (...given) => {
    if (opens.mock.calls.length > 1) await stopped.opened;
    return openThere(...given);
  });
  const joined = durableAgent(echo, there, { clock: soonerClock }).run("two", { whenBusy: "join" });
  joined.catch(() => undefined);
  await until(() => expect(opens.mock.calls.length).toBeGreaterThan(1));
  await persistence(agent).agent("a").stop({ reason: "enough" });
  stopped.open();
  await expect(joined).rejects.toMatchObject({ code: "run_stopped", status: "paused" });
  await expect(run).rejects.toMatchObject({ code: "stop_requested" });
  expect(await unfinishedOf(agent)).toEqual(["paused"]);
});

it("answers a repeated call that has joined and then continued the run of another process", async () => {
  const open = await fileStorage(soonerClock).open();
  const [over, started] = [gate(), gate()];
  let starts = 0;
  const waiting = asking(async (input, { signal }) => {
    starts += 1;
    started.open();
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason as Error)),
    );
    await Promise.race([over.opened, aborted]);
    return `on ${input}`;
  });
  const [first, second] = [open(), open()] as [LogPersistenceStorageProvider, LogPersistenceStorageProvider];
  const one = durableAgent(waiting, first, { clock: soonerClock });
  const two = durableAgent(waiting, second, { clock: soonerClock });
  const opens = vi.spyOn(second.log, "open");
  const dying = new AbortController();
  const killed = one.run("one", { runId: "one", signal: dying.signal });
  await started.opened;
  const joining = two.run("two", { runId: "two", whenBusy: "join" });
  await until(() => expect(opens.mock.settledResults.map(({ type }) => type)).toContain("rejected"));
  dying.abort(new Error("dies"));
  await expect(killed).rejects.toThrow("dies");
  await until(() => expect(starts).toBe(2));
  const repeated = two.run("two", { runId: "two", whenBusy: "join" });
  over.open();
  expect(await Promise.all([joining, repeated])).toMatchObject([{ output: "on one" }, { output: "on one" }]);
});
