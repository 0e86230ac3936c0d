import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type PersistenceStorageProvider,
  strategy,
  tool,
  type RunMoved,
  type RunPersistence,
} from "agent-persistence";
import { processOwner } from "agent-persistence/storage";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { logStorageOf } from "../../../src/storage/checkpoints/CheckpointRecordLog.ts";
import { durableAgent, Fault, Stopped } from "../../persistence/support/durableAgent.ts";
import { storages } from "../../persistence/support/storages.ts";

/** How the agent comes to make its call another time, on another line. */
const moves: Readonly<Record<string, ((durable: RunPersistence) => Promise<RunMoved>) | undefined>> = {
  "a rollback": (durable) => durable.rollbackToCheckpoint("beginning"),
  "a rollback to the latest checkpoint": (durable) => durable.rollbackToLatestCheckpoint(),
  "an execution point": (durable) => durable.setExecutionPoint({ nodeId: "second", input: "y" }),
  "a checkpoint of the beginning of a node": undefined,
};

describe.each(storages)("a tool call that a crash interrupts, on storage in $name", ({ open }) => {
  it.each(Object.entries(moves))("keeps its id when it is made again after %s", async (_name, move) => {
    const opened = await open();
    const ids: string[] = [];
    const fault = new Fault();
    let moved = false;
    const notify = tool({
      name: "notify",
      description: "",
      inputSchema: z.object({}),
      effect: "idempotent",
      execute: (_input, { toolCallId }) => void ids.push(toolCallId),
    });
    const graph = strategy<string, string>("s", (s) => {
      const first = s.node("first", async (text: string, context) => {
        await persistence(context)
          .createCheckpoint({ nodeId: "first", lastInput: text, checkpointId: "beginning" })
          .catch(() => {});
        return text;
      });
      const second = s.node("second", async (text: string, context) => {
        const durable = persistence(context);
        if (!move && !moved) await durable.createCheckpoint();
        await context.tools.call(notify, {});
        if (move && !moved) {
          moved = true;
          return move(durable);
        }
        moved = true;
        fault.strike();
        return text;
      });
      s.edge(s.start, first);
      s.edge(first, second);
      s.edge(second, s.finish);
    });
    await expect(durableAgent(graph, opened(), { tools: [notify] }).run("x")).rejects.toBeInstanceOf(Stopped);
    const before = ids.at(-1);
    const made = ids.length;
    fault.repair();
    await durableAgent(graph, opened(), { tools: [notify] }).resume();
    // A storage with a log knows that the call had ended, and does not make it again.
    expect(ids.slice(made)).toEqual(ids.length === made ? [] : [before]);
    expect(new Set(ids).size).toBe(move ? 2 : 1);
  });
});

it.each<unknown>([undefined, null, {}, "x"])(
  "a provider that returns %j instead of a list of checkpoints is named in the error",
  async (given) => {
    const provider = {
      getCheckpoints: async () => given,
      saveCheckpoint: async () => {},
      getLatestCheckpoint: async () => undefined,
    } as unknown as PersistenceStorageProvider;
    const agent = new AIAgent({ promptExecutor: scriptedModel(["hi"]), llmModel: "m" }).install(Persistence, {
      storage: provider,
    });
    const refused = {
      code: "unreadable_value",
      message: expect.stringContaining("getCheckpoints() of the storage") as unknown,
    };
    await expect(agent.run("x")).rejects.toMatchObject(refused);
    await expect(persistence(agent).agent().getCheckpoints()).rejects.toMatchObject(refused);
  },
);

it("a log over three methods refuses every append after a failed save", async () => {
  const memory = new InMemoryPersistenceStorageProvider();
  const graph = strategy<string, string>("s", (s) => {
    const node = s.node("node", (text: string) => text);
    s.edge(s.start, node);
    s.edge(node, s.finish);
  });
  await durableAgent(graph, memory).run("x");
  let [isAway, saves] = [true, 0];
  const provider: PersistenceStorageProvider = {
    getCheckpoints: async () => [],
    saveCheckpoint: async () => {
      if (isAway) throw new Error("away");
      saves++;
    },
    getLatestCheckpoint: async () => undefined,
  };
  const owned = await logStorageOf(provider).log.open("a", processOwner());
  const failures: unknown[] = [];
  for await (const { id, records } of memory.log.read("a")) {
    await owned.append({ id, records }, owned.position).catch((error: unknown) => failures.push(error));
    isAway = failures.length === 0;
  }
  expect(failures.length).toBeGreaterThan(1);
  expect(new Set(failures).size).toBe(1);
  expect(failures[0]).toMatchObject({ code: "storage_failed" });
  expect(saves).toBe(0);
  await owned.release();
});

it("an agent that is opening while the storage is closed stays free", async () => {
  const provider: PersistenceStorageProvider = {
    getCheckpoints: async () => [],
    saveCheckpoint: async () => {},
    getLatestCheckpoint: async () => undefined,
  };
  const { log } = logStorageOf(provider);
  const opening = log.open("a", processOwner());
  await log.close();
  await expect(opening).rejects.toMatchObject({ code: "storage_closed" });
});
