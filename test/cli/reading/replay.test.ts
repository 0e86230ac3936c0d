import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { AIAgent, Persistence, persistence } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { replayFixture, type RunFixture } from "agent-persistence/replay";
import { describe, expect, it } from "vitest";
import { Desk, deskModule } from "../support/Desk.ts";
import { deskOn } from "../support/desk/desk.mjs";
import { documentOf, itemsOf, progressOf } from "../support/TestTerminal.ts";

describe("replay", () => {
  it("says that the code still matches a run, and calls no tool", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const done = await desk.done();
    const words = ["replay", "order-1", "--agent", `${deskModule}#desk`];
    expect(await desk.command(words)).toMatchObject({ code: 0, out: "order-1 matches its recording: completed.\n" });
    expect(documentOf(await desk.command([...words, "--json"]))).toMatchObject({ agentId: "order-1", matches: true });
    expect(await desk.done()).toEqual(done);
  });

  it("refuses a missing agent module and an unknown run", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    expect(await desk.command(["replay", "order-1"])).toMatchObject({ code: 2 });
    const words = ["replay", "order-1", "--run", "none", "--agent", `${deskModule}#desk`];
    expect(await desk.command(words)).toMatchObject({ code: 3 });
  });
});

describe("replay of a changed agent", () => {
  it("tries another prompt or start, compares the runs, and writes a page of both", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const done = await desk.done();
    const file = join(desk.folder, "both.html");
    const words = ["replay", "order-1", "--agent", `${deskModule}#desk`];
    const prompted = await desk.command([...words, "--system-prompt", "Be brief.", "--out", file]);
    expect(prompted).toMatchObject({ code: 0, out: "order-1 matches its recording: completed.\n" });
    expect(await readFile(file, "utf8")).toContain("Two runs");
    const live = await desk.command([...words, "--model", "live", "--llm-model", "other"]);
    expect(live).toMatchObject({ code: 0 });
    const from = await desk.command([...words, "--from", "1-2", "--json"]);
    expect(documentOf(from)).toMatchObject({ status: "completed", matches: true });
    expect(await desk.command([...words, "--from", "9-9"])).toMatchObject({ code: 3 });
    expect(await desk.command([...words, "--model", "other"])).toMatchObject({ code: 2 });
    expect(await desk.done()).toEqual(done);
  });
});

describe("replay from a checkpoint", () => {
  it("compares with the run of the checkpoint, not with the newest run", async () => {
    await using desk = await Desk.open();
    for (const runId of ["r1", "r2"])
      await deskOn(desk.storage).run(`the order of ${runId}`, { agentId: "order-1", runId, unfinished: "abandon" });
    const file = join(desk.folder, "both.html");
    const words = ["replay", "order-1", "--agent", `${deskModule}#desk`, "--from", "1-1", "--out", file];
    await desk.command([...words, "--system-prompt", "Be brief."]);
    const page = await readFile(file, "utf8");
    expect([...page.matchAll(/"runId":"(r[12])"/g)].map(([, runId]) => runId)).toEqual(["r1", "r1"]);
  });
});

describe("replay of all agents", () => {
  it("replays the newest run of every agent, shows the progress, and names those that differ", async () => {
    await using desk = await Desk.open();
    for (const agentId of ["order-1", "order-2"]) await desk.completes(agentId);
    const words = ["replay", "--agent", `${deskModule}#desk`];
    expect(await desk.command(words)).toMatchObject({ code: 0, out: "2 of 2 runs match.\n", err: "" });
    const { err } = await desk.command(words, { columns: 100 });
    expect(progressOf(err)).toEqual(expect.arrayContaining(["Replaying", "Replaying: 2 of 2, 2 match", ""]));
    const items = itemsOf<{ readonly agentId: string }>(await desk.command([...words, "--json"]));
    expect(items.map(({ agentId }) => agentId).toSorted()).toEqual(["order-1", "order-2"]);
    const other = new AIAgent({ llmModel: "x", promptExecutor: scriptedModel(["hi"]) });
    await other.install(Persistence, { storage: desk.storage }).run("go", { agentId: "other", runId: "r" });
    const differs = await desk.command(words);
    expect(differs).toMatchObject({ code: 7, out: expect.stringMatching(/2 of 3 runs match\.\n$/) });
    expect(differs.out).toMatch(/other +r +another \w+ +callModel/);
    expect(await desk.command([...words, "--run", "r"])).toMatchObject({ code: 2 });
  });

  it("exits with a failure if the run was pruned, alone and among others", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await persistence(deskOn(desk.storage)).prune({ agentId: "order-1", policy: { maxCheckpoints: 2 } });
    const words = ["replay", "--agent", `${deskModule}#desk`];
    expect(await desk.command([...words, "order-1"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("pruned"),
    });
    expect(await desk.command(words)).toMatchObject({ code: 1 });
  });

  it("exits with damage instead of a difference if a run cannot be read", async () => {
    await using desk = await Desk.open();
    for (const agentId of ["order-1", "order-2"]) await desk.completes(agentId);
    await desk.damage("order-2");
    const words = ["replay", "--agent", `${deskModule}#desk`];
    expect(await desk.command(words)).toMatchObject({ code: 6, out: expect.stringMatching(/1 of 2 runs match\.\n$/) });
  });
});

describe("fixture", () => {
  it("writes a run that replays without its storage, with redacted paths", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const file = join(desk.folder, "run.json");
    const words = ["fixture", "order-1", "--out", file, "--redact", "book.output.room", "none.here"];
    const answered = await desk.command(words);
    expect(answered).toMatchObject({ code: 0, out: expect.stringContaining("Wrote a run of order-1 to") });
    expect(answered.err).toContain("none.here");
    const fixture = JSON.parse(await readFile(file, "utf8")) as RunFixture;
    const later = replayFixture(deskOn(desk.storage), { ...fixture, version: 2 } as never);
    await expect(later).rejects.toThrow("expected version 1, received 2");
    expect(fixture).toMatchObject({ version: 1, agentId: "order-1", redacted: ["book.output.room", "none.here"] });
    expect(await replayFixture(deskOn(desk.storage), fixture)).toMatchObject({ matches: true });
    const { bytes } = documentOf<{ readonly bytes: number }>(await desk.command([...words, "größe", "--json"]));
    expect(bytes).toBe((await stat(file)).size);
    expect(await desk.command(["fixture", "order-1"])).toMatchObject({ code: 2 });
    expect(await desk.command(["fixture", "order-1", "--run", "none", "--out", file])).toMatchObject({ code: 3 });
  });
});
