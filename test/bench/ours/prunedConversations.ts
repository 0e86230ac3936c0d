import { persistence } from "agent-persistence";
import { question } from "../turns.ts";
import { agentIn } from "./conversations.ts";

/** Pruning an agent of many runs. */
export interface PrunedConversation {
  readonly runs: number;
  /** CPU time, in milliseconds. */
  readonly cpuMs: number;
  /** The longest time without another turn of the event loop, in milliseconds. */
  readonly stallMs: number;
}

export async function prunedConversations(directory: string): Promise<readonly PrunedConversation[]> {
  const figures: PrunedConversation[] = [];
  for (const runs of [300, 1_000, 3_000]) figures.push(await prunedAfter(runs, `${directory}-${runs}`));
  return figures.slice(1);
}

async function prunedAfter(runs: number, directory: string): Promise<PrunedConversation> {
  const { agent, storage } = agentIn(directory);
  for (let run = 0; run < runs; run++) await agent.run(question, { agentId: "bench", history: "continue" });
  let [stallMs, ended] = [0, false];
  let last = moment();
  const look = (): void => {
    const now = moment();
    // What other processes take of the processor is no stall of ours.
    stallMs = Math.max(stallMs, Math.min(now.wall - last.wall, now.cpu - last.cpu));
    last = now;
    if (!ended) setImmediate(look);
  };
  const start = moment();
  look();
  const { pruned } = await persistence(agent).prune({ agentId: "bench", policy: { completedDays: Infinity } });
  ended = true;
  if (pruned.length !== 1) throw new Error("The agent was to be pruned.");
  const { cpu } = moment();
  await storage.log.close();
  return { runs, cpuMs: cpu - start.cpu, stallMs };
}

function moment(): { readonly wall: number; readonly cpu: number } {
  const { user, system } = process.cpuUsage();
  return { wall: performance.now(), cpu: (user + system) / 1_000 };
}
