import { persistence, strategy } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { TaskManager, type TaskStatus } from "agent-persistence/task";
import { SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { logStorages } from "../../persistence/support/storages.ts";
import { wayTo } from "../state/tasksInEachStatus.ts";

const day = 24 * 60 * 60 * 1000;
const echo = strategy<string, string>("echo", (g) => g.edge(g.start, g.finish));
const large = "x".repeat(20_000);

describe.each(logStorages)("$name: a task is kept", (storage) => {
  it.each<[TaskStatus, string, number]>([
    ["completed", "for 7 days", 7],
    ["cancelled", "for 7 days", 7],
    ["failed", "for 30 days", 30],
    ["in_progress", "for ever", Infinity],
    ["queued", "for ever", Infinity],
    ["paused", "for ever", Infinity],
    ["waiting", "for ever", Infinity],
  ])("when it is %s, %s, and is then removed with its blobs", async (status, _time, days) => {
    const opened = await storage.open();
    const clock = new SimulatedClock();
    const tasks = new TaskManager({ storage: opened(), clock });
    await tasks.create({ taskId: "t", taskName: "n", inputRequest: large });
    const blobs = await blobsIn(opened());
    expect(blobs).toHaveLength(1);
    await wayTo[status](tasks, "t");
    const feature = persistence(durableAgent(echo, opened(), { clock }));
    const there = async () => [
      await tasks.get("t").then((task) => task?.status),
      (await opened().log.blobs.get("t", blobs[0] ?? "")) !== undefined,
    ];
    clock.advance(Number.isFinite(days) ? days * day - 1 : 10_000 * day);
    expect((await feature.prune()).pruned).toEqual([]);
    expect(await there()).toEqual([status, true]);
    clock.advance(1);
    const expected = Number.isFinite(days) ? [{ agentId: "t", dropped: true }] : [];
    expect((await feature.prune()).pruned).toMatchObject(expected);
    expect(await there()).toEqual(Number.isFinite(days) ? [undefined, false] : [status, true]);
  });
});

async function blobsIn(storage: LogPersistenceStorageProvider): Promise<readonly string[]> {
  let text = "";
  for await (const entry of storage.log.read("t")) text += JSON.stringify(entry.records);
  return text.match(/blob:\/\/[0-9a-f]+-\d+(?:\.gz)?/g) ?? [];
}
