import { cp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AIAgent, Persistence, type PersistenceEvent } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";
import { systemClock } from "../../../src/internal/Clock.ts";
import { Desk } from "../support/Desk.ts";
import { itemsOf } from "../support/TestTerminal.ts";

type Saved = Extract<PersistenceEvent, { checkpointId: string; version: number }>;

/** Runs agents as one process of a service, which keeps its events outside the storage. */
async function runs(desk: Desk, texts: Readonly<Record<string, string>>, aheadMs = 0): Promise<Saved[]> {
  const saved: Saved[] = [];
  const storage = new FilePersistenceStorageProvider({ directory: desk.agents });
  const agent = new AIAgent({
    promptExecutor: scriptedModel(Object.values(texts)),
    llmModel: "none",
  }).install(Persistence, {
    storage,
    clock: { ...systemClock, now: () => Date.now() + aheadMs },
    onEvent: (event) => {
      if (isSaved(event)) saved.push(event);
    },
  });
  for (const agentId of Object.keys(texts)) await agent.run("go", { agentId });
  await storage.log.close();
  return saved;
}

function isSaved(event: PersistenceEvent): event is Saved {
  return "trigger" in event && "checkpointId" in event;
}

async function restore(desk: Desk): Promise<void> {
  await rm(desk.agents, { recursive: true });
  await cp(`${desk.agents}.copy`, desk.agents, { recursive: true });
}

it("verify --since finds agents with missing turns in a restored storage", async () => {
  await using desk = await Desk.open();
  const before = await runs(desk, { a: "one", b: "one" });
  await cp(desk.agents, `${desk.agents}.copy`, { recursive: true });
  const after = await runs(desk, { b: "two", c: "new" });
  const file = join(desk.folder, "saved.jsonl");
  await writeFile(file, [...before, ...after].map((event) => `${JSON.stringify(event)}\n`).join(""));
  const intact = await desk.command(["verify", "--json", "--since", file]);
  expect(intact).toMatchObject({ code: 0 });

  await restore(desk);
  const restored = await desk.command(["verify", "--json", "--since", file]);
  expect(restored).toMatchObject({ code: 6 });
  const items = itemsOf<{ agentId: string; damage: readonly { code: string }[] }>(restored);
  const older = items.filter(({ damage }) => damage.some(({ code }) => code === "older_state"));
  expect(older.map(({ agentId }) => agentId).toSorted()).toEqual(["b", "c"]);

  const head = after.findLast(({ agentId }) => agentId === "b")?.checkpointId ?? "";
  expect(await desk.command(["verify", "b", "--since", head])).toMatchObject({
    code: 6,
    out: expect.stringContaining(`older_state checkpoint ${head} existed before`) as string,
  });
  // The agent runs again, and gives the same id to another checkpoint.
  await runs(desk, { b: "other two" }, 3_600_000);
  expect(await desk.command(["verify", "b", "--since", head])).toMatchObject({ code: 0 });
  expect(await desk.command(["verify", "b", "--since", `${head}@${new Date().toISOString()}`])).toMatchObject({
    code: 6,
  });
});

it("verify --since refuses text without a checkpoint", async () => {
  await using desk = await Desk.open();
  await runs(desk, { a: "one", b: "one" });
  expect(await desk.command(["verify", "--since", "1-2"])).toMatchObject({ code: 2 });
  expect(await desk.command(["verify", "a", "--since", "missing.jsonl"])).toMatchObject({ code: 2 });
  await writeFile(join(desk.folder, "bad.jsonl"), '{"agentId":"a"}\n');
  expect(await desk.command(["verify", "--since", join(desk.folder, "bad.jsonl")])).toMatchObject({ code: 2 });
});
