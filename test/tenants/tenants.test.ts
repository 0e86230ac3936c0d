import { AIAgent, Persistence, persistence, tool } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { TaskManager } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { soak } from "../soak/cases.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { contentOf, tenantPairs } from "./tenantPairs.ts";

/** Uses the whole interface of a storage. The ids are the same for each tenant, the contents are not. */
function tenant(storage: LogPersistenceStorageProvider, secret: string) {
  const look = tool({
    name: "look",
    description: "Looks.",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: async () => secret.repeat(2_000), // larger than a blob
  });
  const promptExecutor = scriptedModel([{ toolCalls: [{ toolName: "look", input: {} }] }, secret]);
  const agent = new AIAgent({ promptExecutor, llmModel: "scripted", tools: [look] });
  agent.install(Persistence, { storage });
  const tasks = new TaskManager({ storage });
  const feature = persistence(agent);
  return {
    async live() {
      await agent.run(secret, { agentId: "a", runId: "r" });
      await feature.agent("a").send("news", secret, { key: "k" });
      await tasks.create({ taskId: "t", taskName: "work", inputRequest: secret });
      await tasks.create({ deduplicationId: "d", taskName: "work", inputRequest: secret });
      await tasks.schedule({ scheduleId: "s", cron: "0 0 1 1 *", taskName: "work", inputRequest: secret });
      await feature.agent("a").fork("forked");
    },
    async see(): Promise<unknown> {
      return [
        await feature.agent("a").getCheckpoints(),
        await agent.run(secret, { agentId: "a", runId: "r" }),
        await collect(tasks.list()),
        await collect(tasks.schedules.list()),
        await collect(feature.unfinished()),
        await collect(feature.listRequests()),
      ];
    },
    async end() {
      await tasks.cancel("t");
      await tasks.schedules.delete("s");
      await feature.prune();
      await feature.deleteAgent("a");
      await feature.deleteAgent("forked");
    },
  };
}

/** A table of DynamoDB takes seconds to make. */
const tested = Object.entries(tenantPairs).filter(([name]) => soak || name !== "in DynamoDB");

describe("tenants with one storage each", () => {
  it.each(tested)("do not see or change each other %s", async (_name, pair) => {
    const [first, second] = await pair();
    const [one, two] = [tenant(first!, "secret of the first"), tenant(second!, "secret of the second")];
    await two.live();
    const before = await contentOf(second!);
    expect(before).toContain("secret of the second");
    await one.live();
    expect(JSON.stringify(await one.see())).not.toContain("secret of the second");
    expect(await contentOf(first!)).not.toContain("secret of the second");
    await one.end();
    expect(await contentOf(first!)).not.toContain('"agentId":"a"');
    expect(await contentOf(second!)).toBe(before);
    expect(JSON.stringify(await two.see())).toContain("secret of the second");
  });
});
