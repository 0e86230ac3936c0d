import { rm } from "node:fs/promises";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "./bundleWorker.ts";
import { agentDirectory } from "./worker/identity.ts";
import { judgeTrace } from "./judge/judgeTrace.ts";
import { Ledger } from "./worker/Ledger.ts";
import { temporaryDirectory } from "./temporaryDirectory.ts";
import { Trace } from "./judge/Trace.ts";
import { killRunningWorkers, WorkerProcess } from "./WorkerProcess.ts";
import type { WorkerStart } from "./worker/WorkerOptions.ts";
import { soak, wholeSoak } from "../soak/cases.ts";

let directory: string;
let program: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  program = await bundleWorker(directory);
});
afterEach(killRunningWorkers);
afterAll(() => rm(directory, { recursive: true, force: true }));

/** One start in a directory, to its end. */
async function start(options: WorkerStart) {
  const worker = new WorkerProcess(program, options);
  const failed = await worker.hear("failed");
  const completed = await worker.hear("completed");
  await worker.ended();
  return { failed, completed };
}

/** Kills a process that stands still inside a call. @returns the id of the call */
async function killInside(options: WorkerStart): Promise<string | undefined> {
  const worker = new WorkerProcess(program, options);
  const halted = await worker.hear("halted");
  worker.kill();
  expect(await worker.ended()).toMatchObject({ killed: true });
  return halted?.call;
}

const inside = [{ place: "after", number: 2, nodeId: "settle", booked: 1 }] as const;
const otherInside = [
  { place: "before", number: 1, nodeId: "act", booked: 0 },
  { place: "after", number: 1, nodeId: "act", booked: 1 },
  { place: "before", number: 2, nodeId: "settle", booked: 0 },
] as const;

describe("a process killed inside a tool", () => {
  it.each(!wholeSoak ? inside : [...inside, ...otherInside])(
    "leaves an irreversible call in doubt, $place its effect in node $nodeId, that is not repeated unless resolved",
    async ({ place, number, nodeId, booked }) => {
      const own = await temporaryDirectory();
      const common = { directory: own, toolCallIds: "unique" } as const;
      const toolCallId = await killInside({ ...common, haltAt: { tool: "transfer", place, number } });
      const inDoubt = { code: "tool_call_in_doubt", toolName: "transfer", toolCallId, nodeId };
      for (let starts = 0; starts < 2; starts++) {
        expect(await start(common)).toMatchObject({ failed: inDoubt, completed: undefined });
      }
      const trace = new Trace(own);
      const runsOf = () => trace.read().filter((line) => line.kind === "started" && line.call === toolCallId).length;
      const bookings = () => {
        using ledger = new Ledger(own);
        return ledger.rows().filter((row) => row.toolCallId === toolCallId).length;
      };
      expect({ runs: runsOf(), bookings: bookings() }).toEqual({ runs: 1, bookings: booked });
      expect(await statusOf(own)).toEqual(["failed"]);
      // Settled by a person, who declares the call safe to repeat with its id.
      expect(await start({ ...common, settled: true })).toMatchObject({ completed: { output: "5 rounds" } });
      expect({ runs: runsOf(), bookings: bookings() }).toEqual({ runs: 2, bookings: 1 });
      expect(judgeTrace(trace.read())).toEqual([]);
      await rm(own, { recursive: true });
    },
  );

  it("has recorded the response that requested the call, even if the tool has no side effect", async () => {
    const own = await temporaryDirectory();
    const common = { directory: own, toolCallIds: "unique" } as const;
    // The third is asked for in the visit of a node that asked the model itself.
    await killInside({ ...common, haltAt: { tool: "look", place: "before", number: 3, dies: true } });
    expect(await start(common)).toMatchObject({ completed: { output: "5 rounds" } });
    expect(judgeTrace(new Trace(own).read())).toEqual([]);
    await rm(own, { recursive: true });
  });

  it("is followed by a process that repeats only the idempotent call, with its id", async () => {
    const own = await temporaryDirectory();
    const common = { directory: own, toolCallIds: "repeating" } as const;
    const toolCallId = await killInside({ ...common, haltAt: { tool: "refuse", place: "before" } });
    const before = new Trace(own).read().length;
    expect(await start(common)).toMatchObject({ completed: { output: "5 rounds" } });
    const trace = new Trace(own).read();
    const next = trace.slice(before).find(({ kind }) => kind === "started");
    expect(next).toEqual({ kind: "started", call: toolCallId });
    expect(judgeTrace(trace)).toEqual([]);
    await rm(own, { recursive: true });
  });

  it.each(soak ? ["checkpoints" as const] : [])(
    "makes a finished call run again on a storage of %s alone, which the test notices",
    async (storage) => {
      const own = await temporaryDirectory();
      const common = { directory: own, toolCallIds: "repeating", storage } as const;
      await killInside({ ...common, haltAt: { tool: "refuse", place: "before" } });
      expect(await start(common)).toMatchObject({ completed: { output: "5 rounds" } });
      expect(judgeTrace(new Trace(own).read())).toContainEqual(expect.stringContaining("of charge ran again"));
      await rm(own, { recursive: true });
    },
  );
});

async function statusOf(own: string): Promise<readonly string[]> {
  const statuses: string[] = [];
  const { log } = new FilePersistenceStorageProvider({ directory: agentDirectory(own) });
  for await (const { status } of log.list()) statuses.push(status);
  return statuses;
}
