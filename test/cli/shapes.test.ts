import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { AIAgent, Persistence, persistence } from "agent-persistence";
import { PersistenceSession } from "agent-persistence/openai-agents";
import { TaskManager } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { SavedThread } from "../integrations/langgraph/savedThread.ts";
import { Desk, deskModule } from "./support/Desk.ts";
import { documentOf, itemsOf } from "./support/TestTerminal.ts";

/** Kept beside the log, as large values are. */
const long = "x".repeat(100_000);

/** A desk with an agent, a thread of a graph and a session in one folder. */
async function deskOfThree(): Promise<Desk> {
  const desk = await Desk.open();
  await desk.waits("order-1");
  const thread = new SavedThread({ storage: desk.storage });
  await thread.put(undefined, { text: long });
  await thread.saver[Symbol.asyncDispose]();
  await using session = new PersistenceSession({ storage: desk.storage, sessionId: "talk" });
  await session.addItems([{ role: "user", content: long }]);
  return desk;
}

describe("a storage with agents, a thread and a session", () => {
  it("is listed as a whole: other logs follow the agents, with their shape", async () => {
    await using desk = await deskOfThree();
    const { out } = await desk.command(["list"]);
    expect(out).toMatch(/^AGENT.*\norder-1 .*\nsession:talk +session .*\nthread:order-7 +thread [^]*$/m);
    expect(itemsOf(await desk.command(["list", "--json"]))).toMatchObject([
      { agentId: "order-1", shape: "agent" },
      { agentId: "session:talk", shape: "session" },
      { agentId: "thread:order-7", shape: "thread" },
    ]);
  });

  it("is listed with the inboxes, schedules and rates of its tasks, each with its shape", async () => {
    await using desk = await deskOfThree();
    const { storage } = desk;
    const tasks = new TaskManager({ storage });
    await tasks.schedule({ scheduleId: "nightly", cron: "0 3 * * *", taskName: "t", inputRequest: "x" });
    const turn = await tasks.takeTurn({ queue: "mail" }, { rateLimit: { max: 1, perMs: 1_000 } });
    if (turn.kind === "granted") await turn.release();
    const agent = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none" }).install(Persistence, {
      storage,
    });
    await persistence(agent).agent("order-9").send("paid", 1);
    const listed = itemsOf(await desk.command(["list", "--json"])) as { agentId: string; shape: string }[];
    expect(Object.fromEntries(listed.map(({ agentId, shape }) => [agentId, shape]))).toEqual({
      "order-1": "agent",
      "inbox:order-9": "inbox",
      "rate:mail": "rate",
      "schedule:nightly": "schedule",
      "session:talk": "session",
      "thread:order-7": "thread",
    });
    expect((await desk.command(["show", "nightly"])).out).toMatch(/^id +schedule:nightly\nshape +schedule/);
  });

  it("resolves a thread or session by the id that its program uses", async () => {
    await using desk = await deskOfThree();
    expect((await desk.command(["show", "order-7"])).out).toMatch(/^id +thread:order-7\n/);
    expect((await desk.command(["show", "talk"])).out).toMatch(/^id +session:talk\n/);
  });

  it("salvages a thread with its large values", async () => {
    await using desk = await deskOfThree();
    expect(await desk.command(["salvage", "order-7", "--to", "saved", "--yes"])).toMatchObject({ code: 0 });
    const there = ["--storage", "file:saved"];
    expect(itemsOf(await desk.command(["verify", "--json", ...there]))).toMatchObject([{ blobs: 1, damage: [] }]);
  });

  it("shows the shape and records of logs without an agent", async () => {
    await using desk = await deskOfThree();
    expect(await desk.command(["show", "thread:"])).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^id +thread:order-7\nshape +a thread of LangGraph\n.*log and verify.*graph\.getStateHistory.*"order-7"/,
      ),
    });
    expect(documentOf(await desk.command(["show", "session:talk", "--json"]))).toMatchObject({ shape: "session" });
    expect((await desk.command(["log", "thread:order-7"])).out).toMatch(/^ +1 {2}shape .*\n[^]* put /);
  });

  it.each([
    ["show", "thread:order-7", "1-1"],
    ["tree", "thread:order-7"],
    ["diff", "thread:order-7", "1-1"],
    ["rollback", "thread:order-7", "1-1", "--preview"],
    ["ui", "thread:order-7", "--out", "page.html"],
    ["settle", "thread:order-7"],
    ["fork", "thread:", "other", "--yes"],
    ["stop", "thread:", "--yes"],
    ["export", "thread:order-7", "--out", "archive"],
    ["tasks", "cancel", "session:talk", "--yes"],
    ["resume", "session:talk", "--yes", "--agent", `${deskModule}#desk`],
  ])("%s states the shape of a log without an agent", async (...args) => {
    await using desk = await deskOfThree();
    const found = await desk.command([...args, "--json"]);
    expect(found).toMatchObject({ code: 2, out: "" });
    expect(JSON.parse(found.err)).toMatchObject({ error: { code: "wrong_shape" } });
    expect(await readdir(desk.folder)).not.toContain("page.html");
  });

  it("is verified as a whole: a missing large value is found in every shape", async () => {
    await using desk = await deskOfThree();
    expect(await desk.command(["verify"])).toMatchObject({ code: 0, out: "3 logs are intact.\n" });
    for (const name of await readdir(join(desk.agents, "tasks")))
      await rm(join(desk.agents, "tasks", name, "blobs"), { recursive: true, force: true });
    const verified = await desk.command(["verify", "--json"]);
    expect(verified.code).toBe(6);
    expect(itemsOf(verified)).toMatchObject([
      { agentId: "order-1", shape: "agent", damage: [] },
      { agentId: "session:talk", shape: "session", blobs: 1, damage: [{ code: "unreadable_value" }] },
      { agentId: "thread:order-7", shape: "thread", blobs: 1, damage: [{ code: "unreadable_value" }] },
    ]);
  });
});
