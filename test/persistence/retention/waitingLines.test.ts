import { persistence } from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { everyLine, type LineKind } from "../support/lineKinds.ts";
import { logStorages, type Opened } from "../support/storages.ts";
import { World } from "../support/World.ts";

/** One line waits and the other has ended, each with messages of its own. */
async function waiting(opened: Opened, kind: LineKind) {
  const world = new World();
  const seen: string[] = [];
  const say = (text: string) => ({ role: "user", content: text }) as const;
  const build = kind.build(world, {
    line: async (role, context) => {
      context.llm.append(...[1, 2, 3, 4].map((at) => say(`line ${at}`)));
      const answer = await context.requestInput({ prompt: "ok?", schema: z.string() });
      seen.push(...context.llm.messages.map(({ content }) => String(content as string)));
      return `${role} ${answer}`;
    },
    beside: (role, { llm }) => {
      llm.append(...[1, 2, 3, 4, 5, 6].map((at) => say(`beside ${at}`)));
      return role;
    },
  });
  const agent = (provider = opened()) => build(provider, { trimming: { messages: 3, summarize: () => "summary" } });
  expect(await agent().run("go", { runId: "r" })).toMatchObject({ status: "waiting" });
  const [request] = await persistence(agent()).agent("a").getRequests();
  const answered = async () => {
    await persistence(agent()).answer(request?.requestId ?? "", "yes");
    return agent().resume();
  };
  return { agent, answered, world, seen };
}

const policy = { maxCheckpoints: 2, maxCheckpointsPaused: 2 };
const once = ["beside acts", "beside begins", "line acts", "line acts", "line begins"];

describe.each(everyLine(logStorages))("a line that waits, %s", (_name, storage, kind) => {
  it("loses no data to pruning and trimming, and continues", async () => {
    const { agent, answered, world, seen } = await waiting(await storage.open(), kind);
    const outside = persistence(agent()).agent("a");
    const before = await outside.getCheckpoints();
    // An agent that is called trims as it was built to.
    const ended = (await outside.getLatestCheckpoint())?.branches?.find(({ status }) => status === "completed");
    if (kind.agentPath.length === 0) expect(ended?.messageHistory[0]).toEqual({ role: "user", content: "summary" });
    const { pruned, failed } = await persistence(agent()).prune({ agentId: "a", policy });
    expect(failed).toEqual([]);
    expect(pruned[0]?.checkpointIds.length ?? 0).toBeGreaterThan(0);
    const left = await outside.getCheckpoints();
    expect(left.length).toBeLessThan(before.length);
    for (const { checkpointId } of left)
      expect(await outside.validateCheckpoint(checkpointId)).toMatchObject({ valid: true });
    expect(await outside.getRequests()).toMatchObject([{ prompt: "ok?" }]);
    expect(await answered()).toMatchObject({ status: "completed", output: "line yes, beside" });
    expect(seen).toEqual(["line 1", "line 2", "line 3", "line 4"]);
    expect(world.nodes.toSorted()).toEqual(once);
  });
});

it.each(everyLine(logStorages))(
  "%s: a pruning keeps the data of a waiting line after a crash at any append",
  async (...each) => {
    const [, storage, kind] = each;
    for (let saves = 0, isOver = false; !isOver; saves++) {
      const opened = await storage.open();
      const { agent, answered, world } = await waiting(opened, kind);
      const { failed } = await persistence(agent(crashAfter(opened(), saves))).prune({ agentId: "a", policy });
      isOver = failed.length === 0;
      expect(await answered(), `after ${saves}`).toMatchObject({ output: "line yes, beside" });
      expect(world.nodes.toSorted()).toEqual(once);
    }
  },
);
