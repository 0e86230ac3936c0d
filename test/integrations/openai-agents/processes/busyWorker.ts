import { writeSync } from "node:fs";
import { AgentBusyError } from "agent-persistence/errors";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { DurableRunner } from "agent-persistence/openai-agents";
import { LogPersistenceStorageProvider, type RecordLog } from "agent-persistence/storage";
import type { WhenBusy } from "agent-persistence";
import { busyDesk } from "./busyDesk.ts";

/** A process in which the second message arrives. It prints a line when it finds the agent busy, and a line at its end. */
const [directory = "", whenBusy = ""] = process.argv.slice(2);
const print = (line: object) => writeSync(1, `${JSON.stringify(line)}\n`);

/** A call that waits has looked at the run of the other owner before its second attempt. */
const tellsAt = whenBusy === "join" || whenBusy === "queue" ? 2 : 1;

/** A log that tells when another owner holds its agent. */
function telling(log: RecordLog): RecordLog {
  let refusals = 0;
  const open: RecordLog["open"] = (...args) =>
    log.open(...args).catch((error: unknown) => {
      if (error instanceof AgentBusyError && ++refusals === tellsAt) print({ busy: true });
      throw error;
    });
  const get = (target: RecordLog, key: PropertyKey): unknown => {
    const value: unknown = key === "open" ? open : Reflect.get(target, key);
    return typeof value === "function" ? value.bind(target) : value;
  };
  return new Proxy(log, { get });
}

const { log } = new FilePersistenceStorageProvider({ directory });
const runner = new DurableRunner({
  storage: new LogPersistenceStorageProvider(telling(log)),
  config: { tracingDisabled: true },
});
try {
  const { finalOutput } = await runner.run(busyDesk().desk, "two", { agentId: "a", whenBusy: whenBusy as WhenBusy });
  print({ finalOutput });
} catch (error) {
  print({ code: (error as { readonly code?: string }).code ?? String(error) });
}
await log.close();
