import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { reporter } from "./agent.ts";

/** A worker process: `worker.ts <name> <directory>`. It stops when the demo disconnects from it. */
const [, , name = "worker", directory = ".agent-persistence"] = process.argv;
const storage = new FilePersistenceStorageProvider({ directory });
const stopped = new AbortController();
process.once("disconnect", () => stopped.abort(new Error("the demo no longer needs this worker")));

await using worker = new TaskWorker({
  tasks: new TaskManager({ storage }),
  agents: { report: reporter(storage, (step, region) => console.log(`${name} ${step} ${region}`)) },
  verify: (output) => [{ check: "has a total", passed: /: \d+$/.test(String(output)) }],
  onOutcome: ({ taskId, outcome, recovered }) =>
    console.log(`${name} ${recovered ? "recovered" : "ran"} ${taskId} ${outcome}`),
});
await worker.run({ signal: stopped.signal, pollMs: 100 });
