import { exportAgent, importAgent } from "agent-persistence/transfer";
import { TaskManager } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { bytesOf, storages } from "../../transfer/movedAgents.ts";
import { collect } from "../../storage/file/support/fixture.ts";

describe.each(Object.entries(storages))("in %s", (_name, make) => {
  it("a moved task or an imported copy is not listed as a task and cannot be created again", async () => {
    const [source, target] = [await make(), await make()];
    const [here, there] = [new TaskManager({ storage: source }), new TaskManager({ storage: target })];
    const task = { taskId: "t", taskName: "work", inputRequest: "in" };
    await here.create(task);
    await importAgent(target, exportAgent(source, "t"));
    await bytesOf(exportAgent(source, "t", { move: true }));
    for (const [tasks, code] of [[here, "agent_moved"] as const, [there, "agent_copied"] as const]) {
      expect(await collect(tasks.list())).toEqual([]);
      await expect(tasks.get("t")).rejects.toMatchObject({ code, agentId: "t" });
      await expect(tasks.cancel("t")).rejects.toMatchObject({ code });
      await expect(tasks.create(task)).rejects.toMatchObject({ code });
    }
  });
});
