import { TaskManager, TaskWorker } from "agent-persistence/task";
import { isStorageName, openStorage } from "../openStorage.ts";
import { reporter } from "./agent.ts";

/** A worker process: `worker.ts <name> <directory> <storage>`. It stops when the demo disconnects from it. */
const [, , name = "worker", directory = ".", storageName = "file"] = process.argv;
const storage = await openStorage(isStorageName(storageName) ? storageName : "file", directory);
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
