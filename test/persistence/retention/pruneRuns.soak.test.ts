import { persistence, type PromptExecutor } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { CountedFiles } from "../support/CountedFiles.ts";
import { defaultLoop } from "../support/defaultLoop.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { forgeConversation, forgedQuestion } from "../support/forgedConversation.ts";
import { cases } from "../../soak/cases.ts";

const model: PromptExecutor = { execute: async () => ({ message: { role: "assistant", content: "fine" } }) };
const build = (storage: LogPersistenceStorageProvider) => durableAgent(defaultLoop, storage, { model });
const policy = { maxCheckpoints: 20, completedDays: Infinity };
const prune = (storage: LogPersistenceStorageProvider) => persistence(build(storage)).prune({ agentId: "a", policy });

async function conversation(runs: number): Promise<CountedFiles> {
  const files = await CountedFiles.create();
  await forgeConversation(files.open(), runs);
  return files;
}

describe("pruning an agent with many finished runs", () => {
  it("keeps all messages and no more checkpoints than the policy allows", async () => {
    const files = await conversation(400);
    const before = await persistence(build(files.open())).agent().getMessages();
    expect(await prune(files.open())).toMatchObject({ failed: [], pruned: [{ dropped: false }] });
    const agent = persistence(build(files.open())).agent();
    expect((await agent.getCheckpoints()).length).toBeLessThanOrEqual(20);
    expect(await agent.getMessages()).toEqual(before);
    const again = await prune(files.open());
    expect(again.pruned).toEqual([]);
  });

  it("keeps the result of every run", async () => {
    const files = await conversation(100);
    await prune(files.open());
    const agent = build(files.open());
    for (const run of [1, 37, 100]) {
      const result = await agent.run(forgedQuestion(run), { runId: `r-${run}` });
      expect(result).toMatchObject({ output: expect.stringMatching(`^answer ${run} `) as unknown });
    }
  });

  it("leaves an agent that can continue and can be rolled back to the remaining checkpoints", async () => {
    const files = await conversation(100);
    await prune(files.open());
    expect(await build(files.open()).run("And now?", { history: "continue" })).toMatchObject({ output: "fine" });
    const agent = persistence(build(files.open())).agent();
    expect(await agent.getMessages()).toHaveLength(202);
    const [, second] = await agent.getCheckpoints();
    await agent.rollbackToCheckpoint(second?.checkpointId ?? "");
    expect(await agent.getMessages()).toEqual(second?.messageHistory);
    await prune(files.open());
    expect(await agent.getMessages()).toEqual(second?.messageHistory);
  });

  it("reads each record a fixed number of times and lets other work run in between", async () => {
    // An append of the forged log has 500 runs.
    const [appended, times] = [500, cases(3, 8)];
    const [few, many] = [await conversation(appended), await conversation(times * appended)];
    const read = async (files: CountedFiles) => (await files.count(() => prune(files.open()))).recordsRead;
    expect((await read(many)) / (await read(few))).toBeLessThan(times + 0.1);
    const files = await conversation(times * appended);
    let [seen, most, ended] = [0, 0, false];
    await files.count(async () => {
      const look = (): void => {
        const { recordsRead } = files.counted;
        most = Math.max(most, recordsRead - seen);
        seen = recordsRead;
        if (!ended) setImmediate(look);
      };
      look();
      await prune(files.open());
      ended = true;
    });
    // One append at a time.
    expect(most).toBeLessThanOrEqual(2 * appended * 9);
  });
});
