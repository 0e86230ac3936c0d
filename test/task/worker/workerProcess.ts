import { writeSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { AIAgent, Persistence, strategy, type AgentContext } from "agent-persistence";
import { nodeEnvironment, TaskManager, TaskWorker, type RecoveryOption } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { type StoragePlace, storageAt } from "../../storage/engines/storageAt.ts";

/** What a worker process is told. */
export interface WorkerProcessOptions {
  /** Where the tasks are. */
  readonly place: StoragePlace;
  /** Default: that of the storage. */
  readonly leaseMs?: number;
  /** The input at which it does not end before it is aborted. */
  readonly hangsAt?: string;
  /** The input that ends the process at once. */
  readonly diesAt?: string;
  readonly pollMs?: number;
  /** Default 2. */
  readonly concurrency?: number;
  /** A file that each task needs in its second step. */
  readonly needs?: string;
  /** What is chosen when it is not as it was. Absent: nobody is asked. */
  readonly choice?: RecoveryOption;
}

const hangsMs = 3_600_000;

// Says what it begins and what came of it, a line each.
const [, , told = "{}"] = process.argv;
const {
  place,
  leaseMs,
  hangsAt,
  diesAt,
  pollMs,
  concurrency = 2,
  needs,
  choice,
}: WorkerProcessOptions = JSON.parse(told);
const say = (...words: readonly string[]) => void writeSync(1, `${words.join(" ")}\n`);
const storage = await storageAt(place, { leaseMs });

const echo = strategy<string, string>("echo", (g) => {
  const prepare = g.node("prepare", (input: string, context: AgentContext) => {
    if (needs !== undefined) context.require({ files: [needs] });
    context.setProgress(50, "prepared");
    return input;
  });
  const work = g.node("work", async (input: string, { signal }: AgentContext) => {
    say("began", input);
    if (input === diesAt) process.kill(process.pid, "SIGKILL");
    if (input === hangsAt) await setTimeout(hangsMs, undefined, { signal });
    return input;
  });
  g.edge(g.start, prepare);
  g.edge(prepare, work);
  g.edge(work, g.finish);
});
const agents = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: echo }).install(
  Persistence,
  {
    storage,
    environment: nodeEnvironment(),
    onEvent: (event) => {
      if (event.type === "recovery_notice")
        say("resumes", event.agentId, `at ${event.nodeId}, ${event.progressSummary}`);
    },
  },
);

await using worker = new TaskWorker({
  tasks: new TaskManager({ storage }),
  agents,
  concurrency,
  attemptDelayMs: 0,
  ...(choice && { onEnvironmentMismatch: () => choice }),
  onOutcome: ({ taskId, outcome, recovered }) => say(recovered ? "recovered" : "ran", taskId, outcome),
});
await worker.run(pollMs === undefined ? {} : { pollMs });
