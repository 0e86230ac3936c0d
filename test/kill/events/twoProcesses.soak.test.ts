import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { AIAgent, Persistence, persistence } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { enginesOfProcesses } from "../../storage/engines/enginesOfProcesses.ts";
import { storageAt, type StoragePlace } from "../../storage/engines/storageAt.ts";
import { bundleWorker } from "../bundleWorker.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "events/receivingWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

function started(place: StoragePlace) {
  const child = spawn(process.execPath, [program, JSON.stringify({ place })], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, said: async () => JSON.parse(String((await lines.next()).value)) as unknown };
}

describe("events", () => {
  it.each(enginesOfProcesses)(
    "reach a run in another process, and the one that continues it after a kill, $name",
    async ({ place }) => {
      const at = await place();
      const storage = await storageAt(at);
      const sender = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]) }).install(Persistence, {
        storage,
      });
      const durable = persistence(sender).agent("a");
      const first = started(at);
      await expect.poll(async () => (await durable.getRequests()).length).toBe(1);
      await durable.send("e", "one", { key: "1" });
      expect(await first.said()).toEqual({ received: "one" });
      first.child.kill("SIGKILL");
      await once(first.child, "exit");
      await durable.send("e", "one", { key: "1" });
      await durable.send("e", "two", { key: "2" });
      const second = started(at);
      expect(await second.said()).toEqual({ received: "one" });
      expect(await second.said()).toEqual({ output: "one two" });
      await storage.log.close();
    },
  );
});
