import { AIAgent, Persistence, strategy, type Clock } from "agent-persistence";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { type StoragePlace, storageAt } from "../../storage/engines/storageAt.ts";

/** What a process is told that drives schedules until it is killed. */
export interface ScheduleProcessOptions {
  readonly place: StoragePlace;
  /** When the simulated time began, in real milliseconds since 1970. */
  readonly startedAt: number;
  /** How much faster the simulated time passes. */
  readonly speed: number;
  readonly leaseMs: number;
}

/** A clock of all processes, which is faster than real time. */
export function fastClock({ startedAt, speed }: Pick<ScheduleProcessOptions, "startedAt" | "speed">): Clock {
  return {
    now: () => startedAt + Math.floor((Date.now() - startedAt) * speed),
    monotonic: () => performance.now(),
    after(ms, callback) {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  };
}

const [, , told] = process.argv;
if (told !== undefined && told.startsWith("{")) {
  const options = JSON.parse(told) as ScheduleProcessOptions;
  const storage = await storageAt(options.place, { leaseMs: options.leaseMs });
  const echo = strategy<string, string>("echo", (g) => {
    const only = g.node("only", (input: string) => input);
    g.edge(g.start, only);
    g.edge(only, g.finish);
  });
  const agents = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: echo }).install(
    Persistence,
    { storage },
  );
  const tasks = new TaskManager({ storage, clock: fastClock(options) });
  await using worker = new TaskWorker({ tasks, agents, concurrency: 2, maxAttempts: 1_000, attemptDelayMs: 0 });
  await worker.run({ pollMs: 20 });
}
