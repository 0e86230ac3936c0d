import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { expect, it } from "vitest";
import { estimateBytes } from "../../src/checkpoint/values/estimateBytes.ts";
import { readIndex } from "../../src/inspect/log/readIndex.ts";
import { loopAgent } from "./support/loopAgent.ts";
import { soak } from "../soak/cases.ts";

/** How large an index is of a log whose input has so many characters. */
async function indexBytes(characters: number): Promise<number> {
  const storage = new InMemoryPersistenceStorageProvider();
  await loopAgent(storage).run("x".repeat(characters), { runId: "r" });
  const { log, events, calls } = await readIndex(storage.log, "a");
  return estimateBytes([[...log.laneRecords.values()], events, [...calls.values()], [...log.runRecords.values()]]);
}

it("an index of a log keeps no values in memory, whatever their size", async () => {
  expect(await indexBytes(10_000)).toBe(await indexBytes(10));
});

it.each(soak ? [5_000] : [])(
  "a look at %d steps needs the same heap for messages of 5,000 bytes and of 100",
  async (steps) => {
    const program = fileURLToPath(new URL("./support/inspectHeap.ts", import.meta.url));
    const child = fork(program, [String(steps)], { execArgv: ["--expose-gc", "--import", "tsx"] });
    const [[small, large]] = (await once(child, "message")) as [[number, number]];
    expect(large / small).toBeLessThan(1.2);
    expect(large).toBeLessThan(2_000);
  },
);
