import { persistence, storageKey, strategy, type AgentContext } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { recoverTask } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { checkpointsOf, recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";

const found = storageKey("found", z.string());

/** Keeps a large value in its second node, and stops in its third. */
const steps = (fault: Fault, ran: string[]) =>
  strategy<string, string>("s", (graph) => {
    const first = graph.node("first", (input: string) => input);
    const second = graph.node("second", (input: string, context: AgentContext) => {
      ran.push("second");
      context.storage.set(found, "x".repeat(20_000));
      return input;
    });
    const third = graph.node("third", (input: string, context: AgentContext) => {
      fault.strike();
      return `${input} ${context.storage.get(found)?.length}`;
    });
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, third);
    graph.edge(third, graph.finish);
  });

describe.each(logStorages)("$name: a newest checkpoint with a lost value", (storage) => {
  async function damaged() {
    const opened = await storage.open();
    const fault = new Fault();
    const ran: string[] = [];
    const agent = () => durableAgent(steps(fault, ran), opened());
    await expect(agent().run("in")).rejects.toBeInstanceOf(Stopped);
    const ids = (await checkpointsOf(agent())).map(({ checkpointId }) => checkpointId);
    const blob = await onlyBlob(opened());
    await opened().log.blobs.delete("a", blob);
    fault.repair();
    return { opened, agent, ids, blob, ran };
  }

  it("is named in the error, and no run falls back to an older checkpoint", async () => {
    const { opened, agent, ids, blob } = await damaged();
    const before = await recordsOf(opened());
    const newest = ids.at(-1);
    expect(await persistence(agent()).agent().validateCheckpoint()).toMatchObject({
      valid: false,
      checkpointId: newest,
      integrity: { blobsAccessible: { ok: false, reason: expect.stringContaining(blob) as string } },
    });
    const refused = recoverTask(agent());
    await expect(refused).rejects.toMatchObject({ code: "recovery_refused" });
    await expect(refused).rejects.toThrow(`${newest}, is damaged`);
    expect(await recordsOf(opened())).toEqual(before);
  });

  it("can be abandoned explicitly", async () => {
    const { agent, ids, ran } = await damaged();
    const [, valid = ""] = ids;
    expect(await persistence(agent()).agent().validateCheckpoint(valid)).toMatchObject({ valid: true });
    await persistence(agent()).agent().rollbackToCheckpoint(valid);
    expect((await recoverTask(agent())).result).toMatchObject({ status: "completed", output: "in 20000" });
    expect(ran).toEqual(["second", "second"]);
  });
});

async function onlyBlob(storage: LogPersistenceStorageProvider): Promise<string> {
  const blobs = JSON.stringify(await recordsOf(storage)).match(/blob:\/\/[0-9a-f]+-\d+(?:\.gz)?/g) ?? [];
  const [blob = "", ...more] = new Set(blobs);
  expect(more).toEqual([]);
  return blob;
}
