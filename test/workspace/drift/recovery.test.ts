import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, persistence, strategy } from "agent-persistence";
import { recoverTask, type RecoveryOption } from "agent-persistence/task";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { Drift, type DriftWatchConfig, type VersionTracker } from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { Fault } from "../../persistence/support/durableAgent.ts";
import { logStorages, type Opened } from "../../persistence/support/storages.ts";
import { recordsOf } from "../../persistence/support/stored.ts";
import { TestRepository } from "../git/repositories.ts";

const rebase = { test: () => true, committer: { name: "Agent", email: "agent@example.com" } };

function build(opened: Opened, { root }: TestRepository, fault: Fault, config: Partial<DriftWatchConfig> = {}) {
  const work = strategy<string, string>("work", (graph) => {
    const first = graph.node("first", (input: string) => Promise.resolve(input));
    const second = graph.node("second", (input: string) => {
      fault.strike();
      return Promise.resolve(input);
    });
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, graph.finish);
  });
  return new AIAgent({ id: "a", promptExecutor: scriptedModel([]), llmModel: "m", strategy: work })
    .install(Persistence, { storage: opened() })
    .install(Drift, { root, ...config });
}

/** A run that stopped; then the upstream got a commit. */
async function stopped(opened: Opened, theirs: Readonly<Record<string, string>> = { "new.txt": "theirs\n" }) {
  const origin = TestRepository.create();
  origin.commit({ "a.txt": "a\n", "b.txt": "b\n" });
  const ours = origin.clone();
  ours.commit({ "a.txt": "ours\n" }, "Ours");
  const fault = new Fault();
  await fault.stops(build(opened, ours, fault).run("go"));
  origin.commit(theirs, "Theirs");
  const fetch = () => Promise.resolve(void ours.git("fetch", "--quiet"));
  const come = (choose: RecoveryOption | undefined, config: Partial<DriftWatchConfig> = { rebase }) => {
    const agent = build(opened, ours, fault, { fetch, ...config });
    return recoverTask(agent, {
      participants: [agent.feature(Drift).recovery],
      ...(choose && { onEnvironmentMismatch: () => choose }),
    });
  };
  const state = () => [ours.git("rev-parse", "HEAD"), ours.git("status", "--porcelain")];
  const events = async () => {
    const saved = persistence(build(opened, ours, fault)).agent("a");
    const tracker = (await saved.getLatestCheckpoint())?.storage["drift"] as VersionTracker | undefined;
    return tracker?.drift_events.map(({ type, resolution }) => [type, resolution]);
  };
  return { ours, come, state, events };
}

describe.each(logStorages)("recovery with new commits upstream, $name", ({ open }) => {
  it("a recovery can ignore new upstream commits", async () => {
    const { come, state, events } = await stopped(await open());
    const before = state();
    const report = await come("ignore");
    expect([report.result.status, state()]).toEqual(["completed", before]);
    expect(report.steps[2]?.chosen).toMatchObject([{ mismatch: { kind: "new_commits_upstream" }, option: "ignore" }]);
    expect(await events()).toEqual([["upstream_change", "ignored"]]);
  });

  it("a recovery that ignores a conflict lets the run continue", async () => {
    const { come, ours, events } = await stopped(await open(), { "a.txt": "theirs\n" });
    ours.write("a.txt", "ours\n");
    expect((await come("ignore", {})).result.status).toBe("completed");
    expect(await events()).toEqual([["upstream_change", "ignored"]]);
  });

  it("a recovery can rebase onto new upstream commits", async () => {
    const { come, ours, events } = await stopped(await open());
    expect((await come("rebase")).result.status).toBe("completed");
    expect(await events()).toEqual([["upstream_change", "rebased"]]);
    expect(ours.git("log", "--format=%s", "-2")).toBe("Ours\nTheirs");
    expect([existsSync(join(ours.root, "new.txt")), ours.git("status", "--porcelain")]).toEqual([true, ""]);
  });

  it.each(["ignore", "rebase"] as const)(
    "a crash after the choice of %s in a recovery loses neither the choice nor its record",
    async (option) => {
      const { come, ours, events } = await stopped(await open());
      let fetches = 0;
      const fetch = async () => {
        ours.git("fetch", "--quiet");
        // The first is that of the recovery, the second that of the resumed run.
        if (++fetches === 2) throw new RangeError("the process ends here");
      };
      await expect(come(option, { rebase, fetch })).rejects.toThrow("the process ends here");
      expect((await come(undefined)).result.status).toBe("completed");
      expect(await events()).toEqual([["upstream_change", option === "ignore" ? "ignored" : "rebased"]]);
    },
  );

  it("a recovery from new upstream commits changes no files on abort, failed tests or without a handler", async () => {
    const opened = await open();
    const { come, state, ours } = await stopped(opened);
    const before = [state(), await recordsOf(opened() as never)];
    await expect(come("abort")).rejects.toMatchObject({ code: "recovery_refused" });
    await expect(come("rebase", { rebase: { ...rebase, test: () => false } })).rejects.toMatchObject({
      code: "recovery_refused",
      reason: "nothing could be rebased (tests_failed)",
    });
    const clock = new SimulatedClock();
    const slow = (_folder: string, signal: AbortSignal) => {
      clock.advance(1);
      return signal.aborted ? new Promise<boolean>(() => {}) : true;
    };
    await expect(come("rebase", { clock, rebase: { ...rebase, test: slow, testTimeoutMs: 1 } })).rejects.toMatchObject({
      reason: "nothing could be rebased (tests_timed_out)",
    });
    const listed = (options: readonly string[]) => ({
      code: "environment_mismatch",
      mismatches: [{ kind: "new_commits_upstream", description: expect.stringContaining("(1)") as string, options }],
    });
    await expect(come(undefined)).rejects.toMatchObject(listed(["ignore", "rebase", "abort"]));
    await expect(come(undefined, {})).rejects.toMatchObject(listed(["ignore", "abort"]));
    expect([state(), await recordsOf(opened() as never)]).toEqual(before);
    ours.write("b.txt", "by hand");
    await expect(come(undefined)).rejects.toMatchObject(listed(["ignore", "abort"]));
  });

  it("a recovery reports a missing repository before it checks for upstream commits", async () => {
    const { come, ours } = await stopped(await open());
    rmSync(ours.root, { recursive: true });
    await expect(come(undefined)).rejects.toMatchObject({
      code: "environment_mismatch",
      mismatches: [{ kind: "working_directory_missing", path: ours.root, options: ["ignore", "abort"] }],
    });
  });

  it("a recovery does not report upstream commits known to the run", async () => {
    const { come, ours } = await stopped(await open());
    ours.git("reset", "--quiet", "--hard", "origin/main");
    expect((await come(undefined, { fetch: () => Promise.resolve() })).result.status).toBe("completed");
  });
});
