import { writeSync } from "node:fs";
import { AIAgent, Persistence, strategy } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";

/** What a worker process is told. */
export interface WorkerProcessOptions {
  readonly directory: string;
  /** The input at which it never ends. */
  readonly hangsAt?: string;
  readonly pollMs?: number;
}

// Says what it begins and what came of it, a line each.
const [, , told = "{}"] = process.argv;
const { directory, hangsAt, pollMs } = JSON.parse(told) as WorkerProcessOptions;
const say = (...words: readonly string[]) => void writeSync(1, `${words.join(" ")}\n`);
const storage = new FilePersistenceStorageProvider({ directory });

const echo = strategy<string, string>("echo", (g) => {
  const only = g.node("only", async (input: string) => {
    say("began", input);
    if (input === hangsAt) await new Promise(() => setInterval(() => {}, 1000));
    return input;
  });
  g.edge(g.start, only);
  g.edge(only, g.finish);
});
const agents = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "none", strategy: echo }).install(
  Persistence,
  {
    storage,
  },
);

await using worker = new TaskWorker({
  tasks: new TaskManager({ storage }),
  agents,
  concurrency: 2,
  onOutcome: ({ taskId, outcome, recovered }) => say(recovered ? "recovered" : "ran", taskId, outcome),
});
await worker.run(pollMs === undefined ? {} : { pollMs });
