import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence, strategy } from "agent-persistence";
import { SimulatedClock, scriptedModel } from "agent-persistence/testing";
import {
  commitTool,
  Drift,
  rebaseInRun,
  Workspace,
  type DriftNotice,
  type DriftWatchConfig,
  type VersionTracker,
} from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { lines, TestRepository } from "../git/repositories.ts";

function pair() {
  const origin = TestRepository.create();
  origin.commit({ "a.txt": lines(), "b.txt": lines() });
  return { origin, ours: origin.clone() };
}

/** An agent of three nodes, each of which takes as long as it is told. */
class Watched {
  readonly notices: DriftNotice[] = [];
  readonly clock = new SimulatedClock();
  readonly storage = new InMemoryPersistenceStorageProvider();
  readonly visited: string[] = [];
  atNode: (name: string) => void = () => {};

  build(ours: TestRepository, config: Partial<DriftWatchConfig> = {}) {
    const { visited, clock, notices } = this;
    const visit = (name: string) => (input: string) => {
      visited.push(name);
      this.atNode(name);
      return Promise.resolve(input);
    };
    const work = strategy<string, string>("work", (graph) => {
      const nodes = ["one", "two", "three"].map((name) => graph.node(name, visit(name)));
      const [one, two, three] = nodes as [(typeof nodes)[0], (typeof nodes)[0], (typeof nodes)[0]];
      graph.edge(graph.start, one);
      graph.edge(one, two);
      graph.edge(two, three);
      graph.edge(three, graph.finish);
    });
    const agent = new AIAgent({ id: "task", promptExecutor: scriptedModel([]), llmModel: "m", strategy: work })
      .install(Persistence, { storage: this.storage })
      .install(Drift, { root: ours.root, clock, onDrift: (notice) => void notices.push(notice), ...config });
    return { agent, saved: persistence(agent).agent() };
  }
}

describe("Drift", () => {
  it("Drift checks before a run continues and every ten minutes, and repeats an open proposal at the end", async () => {
    const { origin, ours } = pair();
    const watched = new Watched();
    watched.atNode = (name) => {
      if (name === "one") watched.clock.advance(600_000);
      if (name === "two") watched.clock.advance(599_999);
    };
    const fetched: string[] = [];
    const fetch = () => {
      fetched.push(ours.git("fetch", "--quiet"));
      return Promise.resolve();
    };
    const { agent, saved } = watched.build(ours, { fetch });
    origin.commit({ "b.txt": "theirs" });
    expect(await agent.run("go")).toMatchObject({ status: "completed" });
    expect(watched.notices.map(({ trigger, response }) => [trigger, response])).toEqual([
      ["before_task_resume", { action: "continue", rebase: "at_end" }],
      ["periodic", { action: "continue", rebase: "at_end" }],
      ["at_end", { action: "continue", rebase: "at_end" }],
    ]);
    expect(fetched).toHaveLength(2);
    const head = ours.git("rev-parse", "HEAD");
    expect((await saved.getLatestCheckpoint())?.storage).toMatchObject({
      drift: {
        task_id: "task",
        started_at_commit: head,
        current_head: head,
        upstream_head: origin.git("rev-parse", "HEAD"),
        drift_events: [{ type: "upstream_change", details: { commits_behind: 1 } }],
      },
    });
  });

  it("Drift checks once when several branches start after the interval", async () => {
    const { ours } = pair();
    const clock = new SimulatedClock();
    const triggers: string[] = [];
    const work = strategy<string, string>("work", (graph) => {
      const first = graph.node("first", (input: string) => (clock.advance(600_000), input));
      const item = graph.node("item", (input: string) => input);
      const all = graph.each("all", item, { concurrency: 5 }, (results: readonly string[]) => results.join());
      graph.edge(graph.start, first);
      graph.edge(first, all, { map: () => ["a", "b", "c", "d", "e"] });
      graph.edge(all, graph.finish);
    });
    const agent = new AIAgent({ id: "task", promptExecutor: scriptedModel([]), llmModel: "m", strategy: work })
      .install(Persistence, { storage: new InMemoryPersistenceStorageProvider() })
      .install(Drift, { root: ours.root, clock, onDrift: ({ trigger }) => void triggers.push(trigger) });
    expect(await agent.run("go")).toMatchObject({ output: "a,b,c,d,e" });
    expect(triggers).toEqual(["before_task_resume", "periodic"]);
  });

  it("Drift asks once about a drift that a branch finds", async () => {
    const { origin, ours } = pair();
    const work = strategy<string, string>("work", (graph) => {
      const first = graph.node("first", (input: string) => {
        ours.write("a.txt", lines({ 3: "ours" }));
        origin.commit({ "a.txt": lines({ 3: "theirs" }) });
        ours.git("fetch", "--quiet");
        return input;
      });
      const item = graph.node("item", (input: string) => input);
      const all = graph.each("all", item, (results: readonly string[]) => results.join());
      const last = graph.node("last", (input: string) => input);
      graph.edge(graph.start, first);
      graph.edge(first, all, { map: () => ["a"] });
      graph.edge(all, last);
      graph.edge(last, graph.finish);
    });
    const agent = new AIAgent({ id: "task", promptExecutor: scriptedModel([]), llmModel: "m", strategy: work })
      .install(Persistence, { storage: new InMemoryPersistenceStorageProvider() })
      .install(Drift, { root: ours.root, intervalMs: 0 });
    const waiting = await agent.run("go");
    const [request] = waiting.status === "waiting" ? waiting.requests : [];
    await persistence(agent)
      .agent()
      .answer(request?.requestId ?? "", "ignored");
    expect(await agent.resume()).toMatchObject({ status: "completed", output: "a" });
  });

  it("Drift does not ask again after a crash about a drift that was answered in a branch", async () => {
    const { origin, ours } = pair();
    const storage = new InMemoryPersistenceStorageProvider();
    const crashesAt = new Set(["b", "last"]);
    const crash = (at: string) => {
      if (crashesAt.delete(at)) throw new Error(`crash at ${at}`);
      return at;
    };
    const work = strategy<string, string>("work", (graph) => {
      const first = graph.node("first", (input: string) => {
        ours.write("a.txt", lines({ 3: "ours" }));
        origin.commit({ "a.txt": lines({ 3: "theirs" }) });
        ours.git("fetch", "--quiet");
        return input;
      });
      const item = graph.node("item", crash);
      const all = graph.each("all", item, { concurrency: 1 }, (results: readonly string[]) => results.join());
      const last = graph.node("last", (input: string) => (crash("last"), input));
      graph.edge(graph.start, first);
      graph.edge(first, all, { map: () => ["a", "b"] });
      graph.edge(all, last);
      graph.edge(last, graph.finish);
    });
    const build = () =>
      new AIAgent({ id: "task", promptExecutor: scriptedModel([]), llmModel: "m", strategy: work })
        .install(Persistence, { storage })
        .install(Drift, { root: ours.root, intervalMs: 0 });
    const waiting = await build().run("go");
    const [request] = waiting.status === "waiting" ? waiting.requests : [];
    await persistence(build())
      .agent()
      .answer(request?.requestId ?? "", "ignored");
    for (const at of ["b", "last"]) await expect(build().resume()).rejects.toThrow(`crash at ${at}`);
    expect(await build().resume()).toMatchObject({ status: "completed", output: "a,b" });
  });

  it("Drift starts no node of another branch before a check ends, or while its question is open", async () => {
    const { origin, ours } = pair();
    const clock = new SimulatedClock();
    const ran: string[] = [];
    const work = strategy<string, string>("work", (graph) => {
      const first = graph.node("first", (input: string) => {
        ours.write("a.txt", lines({ 3: "ours" }));
        origin.commit({ "a.txt": lines({ 3: "theirs" }) });
        ours.git("fetch", "--quiet");
        clock.advance(600_000);
        return input;
      });
      const item = graph.node("item", (input: string) => (ran.push(input), input));
      const all = graph.each("all", item, { concurrency: 2 }, (results: readonly string[]) => results.join());
      graph.edge(graph.start, first);
      graph.edge(first, all, { map: () => ["a", "b"] });
      graph.edge(all, graph.finish);
    });
    const agent = new AIAgent({ id: "task", promptExecutor: scriptedModel([]), llmModel: "m", strategy: work })
      .install(Persistence, { storage: new InMemoryPersistenceStorageProvider() })
      .install(Drift, { root: ours.root, clock });
    const waiting = await agent.run("go");
    const requests = waiting.status === "waiting" ? waiting.requests : [];
    expect(requests.length).toBeGreaterThan(0);
    expect(ran).toEqual([]);
    for (const { requestId } of requests) await persistence(agent).agent().answer(requestId, "ignored");
    expect(await agent.resume()).toMatchObject({ status: "completed", output: "a,b" });
  });

  it("Drift records a rebase made during the run and does not propose it again", async () => {
    const { origin, ours } = pair();
    const upstream = origin.commit({ "b.txt": "theirs" });
    ours.git("fetch", "--quiet");
    const notices: DriftNotice[] = [];
    const committer = { name: "Agent", email: "agent@example.com" };
    const allowed = { root: ours.root, enabled: true, test: () => true, permission: () => true, committer };
    const work = strategy<string, string>("work", (graph) => {
      const last = graph.node("last", async (_input: string, context) => {
        const result = await rebaseInRun(context, allowed);
        return result.rebased ? "rebased" : result.reason;
      });
      graph.edge(graph.start, last);
      graph.edge(last, graph.finish);
    });
    const agent = new AIAgent({ id: "task", promptExecutor: scriptedModel([]), llmModel: "m", strategy: work })
      .install(Persistence, { storage: new InMemoryPersistenceStorageProvider() })
      .install(Drift, { root: ours.root, onDrift: (notice) => void notices.push(notice) });
    expect(await agent.run("go")).toMatchObject({ output: "rebased" });
    expect(ours.git("rev-parse", "HEAD")).toBe(upstream);
    expect(notices.map(({ trigger }) => trigger)).toEqual(["before_task_resume"]);
    expect((await persistence(agent).agent().getLatestCheckpoint())?.storage).toMatchObject({
      drift: { current_head: upstream, drift_events: [{ type: "upstream_change", resolution: "rebased" }] },
    });
  });

  it("a task waits on high drift and continues with the answer in another process", async () => {
    const { origin, ours } = pair();
    const watched = new Watched();
    ours.write("a.txt", lines({ 3: "ours" }));
    origin.commit({ "a.txt": lines({ 3: "theirs" }) });
    ours.git("fetch", "--quiet");
    const result = await watched.build(ours).agent.run("go");
    expect(result).toMatchObject({
      status: "waiting",
      requests: [{ prompt: expect.stringContaining("a.txt") as string }],
    });
    expect(watched.visited).toEqual([]);
    const { agent, saved } = watched.build(ours);
    const [request] = result.status === "waiting" ? result.requests : [];
    expect((await agent.feature(Drift).versions(saved))?.drift_events).toMatchObject([
      { type: "upstream_change", details: { conflicting_files: ["a.txt"] } },
      { type: "local_change" },
    ]);
    await saved.answer(request?.requestId ?? "", "user_handled");
    expect(await agent.resume()).toMatchObject({ status: "completed" });
    expect((await saved.getLatestCheckpoint())?.storage).toMatchObject({
      drift: {
        drift_events: [
          { type: "upstream_change", details: { conflicting_files: ["a.txt"] }, resolution: "user_handled" },
          { type: "local_change", details: { conflicting_files: ["a.txt"] } },
        ],
      },
    });
  });

  it.each([
    [undefined, 10, "restart", "start the task again"],
    [undefined, 50, "merge_and_continue", "merge the changes and continue"],
    ["merge_and_continue", 10, "merge_and_continue", "merge the changes and continue"],
  ] as const)(
    "the notice and the question recommend a restart or merge: with preference %s at %i percent, %s",
    async (preference, percent, restartDecision, told) => {
      const { origin, ours } = pair();
      const notices: DriftNotice[] = [];
      const clock = new SimulatedClock();
      const work = strategy<string, string>("work", (graph) => {
        const one = graph.node("one", async (input: string, context) => {
          context.setProgress(percent, "under way");
          ours.write("a.txt", lines({ 3: "ours" }));
          origin.commit({ "a.txt": lines({ 3: "theirs" }) });
          ours.git("fetch", "--quiet");
          clock.advance(600_000);
          return input;
        });
        const two = graph.node("two", async (input: string) => input);
        graph.edge(graph.start, one);
        graph.edge(one, two);
        graph.edge(two, graph.finish);
      });
      const agent = new AIAgent({ id: "task", promptExecutor: scriptedModel([]), llmModel: "m", strategy: work })
        .install(Persistence, { storage: new InMemoryPersistenceStorageProvider() })
        .install(Drift, { root: ours.root, clock, preference, onDrift: (notice) => void notices.push(notice) });
      expect(await agent.run("go")).toMatchObject({
        status: "waiting",
        requests: [{ prompt: expect.stringContaining(told) as string }],
      });
      expect(notices.at(-1)).toMatchObject({ report: { severity: "high" }, restartDecision });
    },
  );

  it("driftNow checks outside a run without events or records", async () => {
    const { origin, ours } = pair();
    const watched = new Watched();
    const { agent, saved } = watched.build(ours, { fetch: async () => void ours.git("fetch", "--quiet") });
    origin.commit({ "b.txt": "theirs" });
    const drift = agent.feature(Drift);
    expect(await drift.driftNow()).toMatchObject({ severity: "low", commitsBehind: 1 });
    expect([watched.notices, await saved.getLatestCheckpoint()]).toEqual([[], undefined]);
    await expect(drift.driftNow({ signal: AbortSignal.abort(new RangeError("no")) })).rejects.toThrow("no");
  });

  it("a task waits once for a conflict with its work since the last drift check", async () => {
    const { origin, ours } = pair();
    const watched = new Watched();
    origin.commit({ "a.txt": lines({ 3: "theirs" }) });
    ours.git("fetch", "--quiet");
    watched.atNode = (name) => {
      watched.clock.advance(600_000);
      if (name === "one") ours.write("a.txt", lines({ 3: "ours" }));
    };
    const result = await watched.build(ours).agent.run("go");
    expect(result).toMatchObject({ status: "waiting" });
    expect(watched.visited).toEqual(["one"]);
    const [request] = result.status === "waiting" ? result.requests : [];
    const { agent, saved } = watched.build(ours);
    await saved.answer(request?.requestId ?? "", "ignored");
    expect(await agent.resume()).toMatchObject({ status: "completed" });
    expect(watched.notices.map(({ response }) => response.action)).toEqual(["continue", "pause", "pause", "pause"]);
    expect((await saved.getLatestCheckpoint())?.storage).toMatchObject({
      drift: { drift_events: [{ type: "upstream_change", resolution: "ignored" }, { type: "local_change" }] },
    });
  });

  it("Drift stops a task on rewritten history and recommends the next steps", async () => {
    const { origin, ours } = pair();
    const watched = new Watched();
    const pushed = origin.commit({ "b.txt": "1" });
    ours.git("fetch", "--quiet");
    watched.atNode = (name) => {
      if (name !== "one") return;
      watched.clock.advance(600_000);
      origin.git("reset", "--quiet", "--hard", "HEAD~1");
      origin.commit({ "b.txt": "2" });
      ours.git("fetch", "--quiet");
    };
    const result = await watched.build(ours).agent.run("go");
    expect(result).toMatchObject({
      status: "waiting",
      requests: [{ prompt: expect.stringContaining("by hand") as string }],
    });
    expect(watched.visited).toEqual(["one"]);
    expect(await watched.build(ours).agent.resume()).toMatchObject({ status: "waiting" });
    expect(watched.visited).toEqual(["one"]);
    const [request] = result.status === "waiting" ? result.requests : [];
    const { agent, saved } = watched.build(ours);
    const heads = [
      expect.stringContaining(pushed) as string,
      expect.stringContaining(ours.git("rev-parse", "origin/main")) as string,
    ];
    for (const prompt of heads) expect(await saved.getRequests()).toMatchObject([{ prompt }]);
    const details = { old_head: pushed, new_head: ours.git("rev-parse", "origin/main") };
    const waiting = await agent.feature(Drift).versions(saved);
    expect(waiting?.drift_events).toMatchObject([{ type: "upstream_change" }, { type: "force_push", details }]);
    expect(waiting?.drift_events.map(({ resolution }) => resolution)).toEqual([undefined, undefined]);
    await saved.answer(request?.requestId ?? "", "user_handled");
    await agent.resume();
    expect((await saved.getLatestCheckpoint())?.storage).toMatchObject({
      drift: {
        drift_events: [{ type: "upstream_change" }, { type: "force_push", details, resolution: "user_handled" }],
      },
    });
    expect((await agent.feature(Drift).versions(saved))?.drift_events).toHaveLength(2);
    // What a run has noted is nothing to the next.
    watched.atNode = () => {};
    await agent.run("once more");
    const next = await agent.feature(Drift).versions(saved);
    expect(next?.drift_events.map(({ type }) => type)).toEqual(["upstream_change"]);
  });

  it("Drift detects a force push between two runs by the head of the earlier run", async () => {
    const { origin, ours } = pair();
    const watched = new Watched();
    const pushed = origin.commit({ "b.txt": "1" });
    ours.git("fetch", "--quiet");
    await watched.build(ours).agent.run("go");
    origin.git("reset", "--quiet", "--hard", "HEAD~1");
    origin.commit({ "b.txt": "2" });
    ours.git("fetch", "--quiet");
    const result = await watched.build(ours).agent.run("again");
    expect(result).toMatchObject({
      status: "waiting",
      requests: [{ prompt: expect.stringContaining(`Upstream at the last check: ${pushed}`) as string }],
    });
    expect(await watched.build(ours).agent.resume()).toMatchObject({ status: "waiting" });
    const details = { old_head: pushed, new_head: ours.git("rev-parse", "origin/main") };
    const { agent, saved } = watched.build(ours);
    const [request] = result.status === "waiting" ? result.requests : [];
    await saved.answer(request?.requestId ?? "", "user_handled");
    expect(await agent.resume()).toMatchObject({ status: "completed" });
    expect((await agent.feature(Drift).versions(saved))?.drift_events).toMatchObject([
      { type: "force_push", details, resolution: "user_handled" },
    ]);
    expect(await watched.build(ours).agent.run("once more")).toMatchObject({ status: "completed" });
  });

  it("Drift reports unrelated histories once", async () => {
    const { origin, ours } = pair();
    const watched = new Watched();
    origin.git("checkout", "--quiet", "--orphan", "other");
    origin.commit({ "a.txt": "other" });
    origin.git("branch", "--quiet", "--force", "main", "other");
    ours.git("fetch", "--quiet");
    watched.atNode = () => watched.clock.advance(600_000);
    const result = await watched.build(ours).agent.run("go");
    const [request] = result.status === "waiting" ? result.requests : [];
    const { agent, saved } = watched.build(ours);
    await saved.answer(request?.requestId ?? "", "ignored");
    expect(await agent.resume()).toMatchObject({ status: "completed" });
    const tracker = (await saved.getLatestCheckpoint())?.storage["drift"] as VersionTracker | undefined;
    expect(tracker?.drift_events.map(({ type, resolution }) => [type, resolution])).toEqual([
      ["force_push", "ignored"],
    ]);
  });

  it("Drift rebases after the run with autoRebase, under the same conditions", async () => {
    const { origin, ours } = pair();
    const committer = { name: "Agent", email: "agent@example.com" };
    const upstream = origin.commit({ "b.txt": "theirs" });
    ours.git("fetch", "--quiet");
    const tried = async (allowed: boolean) => {
      const watched = new Watched();
      const rebase = { test: () => true, committer, permission: () => allowed };
      const { agent } = watched.build(ours, { autoRebase: true, rebase });
      expect(await agent.run("go")).toMatchObject({ status: "completed" });
      return watched.notices.at(-1);
    };
    expect(await tried(false)).toMatchObject({
      trigger: "at_end",
      rebase: { rebased: false, reason: "no_permission" },
    });
    ours.write(".git/index.lock", "");
    expect(await tried(true)).toMatchObject({ trigger: "at_end", rebaseError: { code: "git_failed" } });
    ours.remove(".git/index.lock");
    expect(await tried(true)).toMatchObject({ trigger: "at_end", rebase: { rebased: true, head: upstream } });
    expect(ours.git("rev-parse", "HEAD")).toBe(upstream);
    const unasked = { autoRebase: true, rebase: { test: () => true, committer } };
    expect(() => new Watched().build(ours, unasked)).toThrow("rebase.permission");
  });

  it("Drift ignores a file that the agent writes and commits in one turn", async () => {
    const { ours } = pair();
    const notices: DriftNotice[] = [];
    const workspace = new Workspace({ root: ours.root });
    const commit = commitTool({ root: ours.root, author: { name: "Agent", email: "agent@example.com" } });
    const write = workspace.tools.find(({ name }) => name === "write_file")!;
    const work = strategy<string, string>("work", (graph) => {
      const both = graph.node("both", async (input: string, context) => {
        await context.tools.call(write as never, { path: "a.txt", content: "agent's" } as never);
        await context.tools.call(commit, { message: "Agent's", paths: ["a.txt"] });
        return input;
      });
      graph.edge(graph.start, both);
      graph.edge(both, graph.finish);
    });
    const tools = [...workspace.tools, commit];
    const agent = new AIAgent({ id: "task", promptExecutor: scriptedModel([]), llmModel: "m", strategy: work, tools })
      .install(Persistence, { storage: new InMemoryPersistenceStorageProvider(), participants: [workspace] })
      .install(Drift, { root: ours.root, onDrift: (notice) => void notices.push(notice) });
    await agent.run("go");
    expect(notices.map(({ trigger, report }) => [trigger, report.localFiles])).toEqual([
      ["before_task_resume", []],
      ["before_commit", []],
    ]);
    expect(ours.git("status", "--porcelain")).toBe("");
  });

  it("Drift never attributes a workspace change to others, whatever its age", async () => {
    const { ours } = pair();
    const notices: DriftNotice[] = [];
    const workspace = new Workspace({ root: ours.root });
    const write = (path: string) => ({ toolCalls: [{ toolName: "write_file", input: { path, content: "agent's" } }] });
    const agent = new AIAgent({
      id: "task",
      promptExecutor: scriptedModel([write("a.txt"), write("new.txt"), "done"]),
      llmModel: "m",
      tools: workspace.tools,
    })
      .install(Persistence, { storage: new InMemoryPersistenceStorageProvider(), participants: [workspace] })
      .install(Drift, {
        root: ours.root,
        intervalMs: 0,
        onDrift: (notice) => {
          notices.push(notice);
          if (notices.length === 4) ours.write("b.txt", "a person's");
        },
      });
    await agent.run("go");
    expect(notices.map(({ report }) => report.localFiles)).toEqual([[], [], [], [], ["b.txt"]]);
  });
});
