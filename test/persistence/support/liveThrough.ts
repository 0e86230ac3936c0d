import { persistence } from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import { isCrash, isDoubt } from "./causesOf.ts";
import { RandomWorld, refused, type RandomRun } from "./randomRuns.ts";
import { checkpointsOf } from "./stored.ts";
import type { Opened } from "./storages.ts";

/** Lives through all processes of a run; the last is not disturbed. */
export async function live(run: RandomRun, opened: Opened): Promise<RandomWorld> {
  const random = new RandomWorld(run);
  for (const { saves, backTo } of run.processes) {
    const agent = random.agent(crashAfter(opened(), saves));
    await agent.run("go", { runId: "r" }).catch(crashed);
    if (backTo !== undefined) await settling(random, opened, () => goBack(random, opened, backTo));
  }
  await settling(random, opened, () => random.agent(opened()).run("go", { runId: "r" }));
  return random;
}

async function goBack(random: RandomWorld, opened: Opened, to: number): Promise<void> {
  const agent = random.agent(opened());
  const checkpoints = await checkpointsOf(agent);
  const target = checkpoints[to % Math.max(1, checkpoints.length)]?.checkpointId ?? "none";
  await persistence(agent).agent().rollbackToCheckpoint(target).catch(refused);
}

/** Does something; as often as it stops at what is in doubt, somebody says what became of it. */
async function settling(random: RandomWorld, opened: Opened, action: () => Promise<unknown>): Promise<void> {
  for (let stops = 0; ; stops++) {
    try {
      return void (await action());
    } catch (error) {
      if (!isDoubt(error) || stops > 50) throw error;
      const outside = persistence(random.agent(opened())).agent();
      for (const call of await outside.getToolCallsInDoubt())
        if (call.settled !== "unknown") await outside.settleToolCall(call.toolCallId, random.settle(call));
    }
  }
}

function crashed(error: unknown): void {
  if (!isCrash(error) && !isDoubt(error)) throw error;
}
