import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { AIAgent, Persistence, persistence, strategy } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { enginesOfProcesses } from "../../storage/engines/enginesOfProcesses.ts";
import { storageAt } from "../../storage/engines/storageAt.ts";
import { bundleWorker } from "../bundleWorker.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "stop/runningWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** The strategy of the worker, with a node that ends. */
const ending = strategy<string, string>("endless", (graph) => {
  const run = graph.node("run", (input: string) => `${input} on`);
  graph.edge(graph.start, run);
  graph.edge(run, graph.finish);
});

describe("stop", () => {
  it.each(enginesOfProcesses)(
    "ends the run of another process, which a third one resumes, $name",
    async ({ place }) => {
      const at = await place();
      const child = spawn(process.execPath, [program, JSON.stringify({ place: at, leaseMs: 900 })], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const lines = createInterface({ input: child.stdout });
      expect(JSON.parse(String(await once(lines, "line")))).toEqual({ said: "running" });
      const ended = once(lines, "line");
      const storage = await storageAt(at);
      const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: ending }).install(
        Persistence,
        { storage },
      );
      const durable = persistence(agent).agent("a");
      expect(await durable.stop({ reason: "stop button" })).toEqual({ stopped: true, status: "paused" });
      expect(JSON.parse(String(await ended))).toEqual({ said: "ended", code: "stop_requested", reason: "stop button" });
      expect(await durable.stop({ reason: "again" })).toEqual({ stopped: false, status: "paused" });
      expect(await agent.resume({ agentId: "a" })).toMatchObject({ output: "go on" });
      expect(await durable.stop({ reason: "late" })).toEqual({ stopped: false, status: "completed" });
      await storage.log.close();
    },
  );
});
