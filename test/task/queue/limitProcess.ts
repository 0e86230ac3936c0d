import { readdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { AIAgent, Persistence, strategy } from "agent-persistence";
import { type QueueLimits, TaskManager, TaskWorker } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { type StoragePlace, storageAt } from "../../storage/engines/storageAt.ts";

/** What a process is told that works on a queue until it is killed. */
export interface LimitProcessOptions {
  readonly place: StoragePlace;
  readonly limits: QueueLimits;
  /** Holds a file for each running task. */
  readonly directory: string;
}

const [, , told = "{}"] = process.argv;
const { place, limits, directory }: LimitProcessOptions = JSON.parse(told);
const { concurrency = Infinity, keyConcurrency = Infinity } = limits;
const storage = await storageAt(place, { leaseMs: 2_000 });

function isRunning(file: string): boolean {
  try {
    return process.kill(Number(file.split(" ")[1]), 0);
  } catch {
    return false;
  }
}

const work = strategy<string, string>("work", (g) => {
  const only = g.node("only", async (input: string) => {
    const [key = ""] = input.split("-");
    const file = join(directory, `${key} ${process.pid} ${input}`);
    writeFileSync(file, "");
    const running = readdirSync(directory).filter(isRunning);
    const sameKey = running.filter((name) => name.startsWith(`${key} `));
    if (running.length > concurrency || sameKey.length > keyConcurrency) writeSync(1, `over ${running.join(", ")}\n`);
    await setTimeout(20);
    rmSync(file);
    return input;
  });
  g.edge(g.start, only);
  g.edge(only, g.finish);
});
const agents = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: work }).install(
  Persistence,
  { storage },
);
const tasks = new TaskManager({ storage });
await using worker = new TaskWorker({
  tasks,
  agents,
  concurrency: 3,
  maxAttempts: 1_000,
  attemptDelayMs: 0,
  queues: { q: limits },
});
await worker.run({ pollMs: 20 });
