import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AIAgent, Persistence, persistence, tool } from "agent-persistence";
import type { SalvageReport } from "agent-persistence/file";
import type { AgentView } from "agent-persistence/inspect";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Desk } from "./support/Desk.ts";
import { documentOf, itemsOf } from "./support/TestTerminal.ts";

/** An agent of which no file says its id any more, as one whose folder may not be read. */
async function deskWithUnreadable(): Promise<Desk> {
  const desk = await Desk.open();
  await desk.waits("order-1");
  await desk.waits("order-2");
  const folder = join(desk.agents, "tasks");
  const name = (await readdir(folder)).find((each) => each.startsWith("order-2")) ?? "";
  await rm(join(folder, name, "state.json"), { force: true });
  await mkdir(join(folder, name, "state.json"));
  return desk;
}

describe("a salvage", () => {
  it("copies the large values that a pruning rewrote, and names the last checkpoint", async () => {
    await using desk = await Desk.open();
    const turns = Array.from({ length: 6 }, (_turn, at) => ({
      text: String(at).repeat(100_000),
      toolCalls: [{ toolName: "wait", input: {} }],
    }));
    const wait = tool({ name: "wait", description: "Waits.", inputSchema: z.object({}), execute: () => "waited" });
    const agent = new AIAgent({ promptExecutor: scriptedModel([...turns, "Done."]), llmModel: "none", tools: [wait] });
    await agent
      .install(Persistence, { storage: desk.storage, retention: { maxCheckpoints: 2 } })
      .run("go", { agentId: "a" });
    expect((await persistence(agent).prune({ agentId: "a" })).pruned.length).toBeLessThanOrEqual(1);
    expect(itemsOf(await desk.command(["log", "a", "--json", "--kind", "pruned"]))).toMatchObject([{ records: [{}] }]);
    const saved = documentOf<SalvageReport>(await desk.command(["salvage", "a", "--to", "saved", "--yes", "--json"]));
    const { head } = documentOf<{ head: { checkpointId: string } }>(await desk.command(["show", "a", "--json"]));
    expect(saved).toMatchObject({ lastCheckpointId: head.checkpointId, lostBlobs: [] });
    const verified = itemsOf<{ blobs: number }>(await desk.command(["verify", "--json", "--storage", "file:saved"]));
    expect(verified).toMatchObject([{ damage: [] }]);
    expect(verified[0]?.blobs).toBeGreaterThan(5);
  });
});

describe("unreadable agents", () => {
  it("with a segment of zeros are shown with an unknown owner", async () => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    const tasks = join(desk.agents, "tasks");
    const [name = ""] = await readdir(tasks);
    const segments = await readdir(join(tasks, name, "checkpoints"));
    for (const segment of segments) await writeFile(join(tasks, name, "checkpoints", segment), Buffer.alloc(5_000));
    const shown = await desk.command(["show", "order-1"]);
    expect(shown.code).toBe(6);
    expect(shown.out).toMatch(/^owner +an unknown process, which may run it$/m);
  });

  it("are reported as damaged under their listed id, possibly with open requests", async () => {
    await using desk = await deskWithUnreadable();
    const listed = itemsOf<{ status: string; agentId: string }>(await desk.command(["list", "--json"]));
    const unreadable = listed.find(({ status }) => status === "unreadable");
    expect(unreadable).toBeDefined();
    const verified = await desk.command(["verify", "--json"]);
    expect(verified.code).toBe(6);
    expect(itemsOf(verified)).toContainEqual(
      expect.objectContaining({ agentId: unreadable?.agentId, damage: [expect.anything()] }),
    );
    expect((await desk.command(["answer"])).err).toBe(
      `${unreadable?.agentId} cannot be read, so it may have open requests. To see why, use verify.\n`,
    );
  });

  it("show the steps before a damaged end", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await desk.damage("order-1", 0.97);
    const { out } = await desk.command(["tree", "order-1"]);
    expect(out.match(/^●/gm)).toHaveLength(5);
    expect(documentOf(await desk.command(["show", "order-1", "--json"]))).toMatchObject({
      status: "unreadable",
      counts: { checkpoints: 5 },
      damage: [{ code: "corrupt_log" }],
    });
  });

  it("show that nothing can be read before a damaged first line, which salvage does not need", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await desk.damage("order-1", 0);
    const { code, out, err } = await desk.command(["tree", "order-1"]);
    expect({ code, out }).toEqual({ code: 6, out: "" });
    expect(err).toMatch(/^Warning: No part of the log can be shown: .* salvage the intact part .*\n$/);
    const saved = await desk.command(["salvage", "order-1", "--to", "saved", "--yes", "--json"]);
    expect(documentOf(saved)).toMatchObject({ lastCheckpointId: "3-6", unreachable: [] });
  });

  it("show the steps before a damaged line that a later owner copied", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await desk.damage("order-1", 0.45);
    const { out, err } = await desk.command(["tree", "order-1"]);
    const count = out.match(/^●/gm)?.length ?? 0;
    expect(count).toBeGreaterThan(0);
    const shownBefore = documentOf<AgentView>(await desk.command(["show", "order-1", "--json"]));
    expect(shownBefore.counts.checkpoints).toBe(count);
    const { lastCheckpointId, lastPosition } = shownBefore.damage[0] ?? {};
    expect(err).toContain(`The last intact position before it is ${lastPosition}.`);
    const error: unknown = await desk.storage.getCheckpoints("order-1").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "corrupt_log", lastPosition, lastCheckpointId });
    const saved = documentOf<SalvageReport>(
      await desk.command(["salvage", "order-1", "--to", "saved", "--yes", "--json"]),
    );
    expect(saved).toMatchObject({ lastPosition, lastCheckpointId });
  });

  it.each([
    ["tree"],
    ["show"],
    ["show", "1-1"],
    ["diff", "1-1"],
    ["rollback", "1-1", "--preview"],
    ["ui", "--out", "page.html"],
  ])("show what is readable, warn, and exit like verify: %s %s", async (name, ...rest) => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const [command, whole] = [[name, "order-1", ...rest], await desk.command([name, "order-1", ...rest])];
    expect(whole).toMatchObject({ code: 0, err: "" });
    await desk.damage("order-1", 0.97);
    const warning = expect.stringMatching(
      /^Warning: Only the part before the damage is shown: The log of agent "order-1" .*verify/,
    );
    expect(await desk.command(command)).toMatchObject({ code: 6, out: expect.stringMatching(/./), err: warning });
    const programs = await desk.command([...command, "--json"]);
    expect(documentOf(programs)).toBeDefined();
    expect(JSON.parse(programs.err)).toMatchObject({ error: { code: "corrupt_log" } });
    expect(programs.code).toBe((await desk.command(["verify"])).code);
  });

  it("are listed with a hint that only verify finds all of them", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    await desk.damage("order-1", 0.97);
    const { err } = await desk.command(["list", "--status", "unreadable"]);
    expect(err).toBe("There are no such agents.\nlist does not read whole logs. To find all damage, use verify.\n");
  });

  it.each([
    ["diff", "1-1"],
    ["rollback", "1-1", "--preview"],
    ["show", "1-1"],
  ])("%s reports the damage if it hides a checkpoint", async (name, ...rest) => {
    await using desk = await Desk.open();
    await desk.waits("order-1");
    await desk.damage("order-1", 0);
    const found = await desk.command([name, "order-1", ...rest, "--json"]);
    expect(found).toMatchObject({ code: 6, out: "" });
    expect(JSON.parse(found.err)).toMatchObject({ error: { code: "damaged" } });
  });
});
