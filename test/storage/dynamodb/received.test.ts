import type { OwnedLog } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { MemoryRecordLog } from "../../../src/storage/memory/MemoryRecordLog.ts";
import { processOwner } from "../../../src/storage/ReleasableLog.ts";
import { appendText, collect, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { FakeDynamoDB } from "./support/FakeDynamoDB.ts";
import { opened, processOn, settled, type TableProcess, takenOver } from "./processOn.ts";
import { connectionBroke, isWrite } from "./support/WatchedDynamoDB.ts";

/** The lines of a log of three appends. */
async function sentLines(): Promise<readonly Uint8Array[]> {
  const source = new MemoryRecordLog();
  const owned = await source.open("a", processOwner());
  for (const text of ["one", "two", "three"]) await appendText(owned, text);
  return collect(source.encodedAppends("a"));
}

async function received({ log }: TableProcess, lines: readonly Uint8Array[]): Promise<OwnedLog> {
  const last = { id: "last", records: [{ kind: "x" }], summary: exampleSummary("a", "running") };
  return (await log.receive?.("a", processOwner(), { appends: lines, generation: 1 }, () => last)) as OwnedLog;
}

it("a received log is complete if the import resolves, and empty if it rejects, at any failed write", async () => {
  const lines = await sentLines();
  const outcomes = new Set<string>();
  let ended = false;
  for (let failing = 0; !ended; failing++) {
    const database = new FakeDynamoDB();
    const process = processOn(database);
    let writes = 0;
    process.client.onRequest = (method) => {
      if (isWrite(method) && writes++ === failing) throw connectionBroke();
    };
    const { status } = await settled(process, received(process, lines));
    ended = writes <= failing;
    const next = processOn(database);
    expect(await collect(next.log.read("a"))).toHaveLength(status === "fulfilled" ? lines.length + 1 : 0);
    outcomes.add(status);
    if (status === "fulfilled") continue;
    const free = await opened(next).catch(() => undefined);
    await (free ?? (await takenOver(next))).release();
    expect((await received(next, lines)).position).toBe(lines.length + 1);
  }
  expect(outcomes).toEqual(new Set(["fulfilled", "rejected"]));
});

it("a received log is complete if the import resolves, and its owner appends to it, at any lost response", async () => {
  const lines = await sentLines();
  let ended = false;
  for (let lost = 0; !ended; lost++) {
    const database = new FakeDynamoDB();
    const process = processOn(database);
    let writes = 0;
    process.client.onRequest = (method) => {
      if (isWrite(method) && writes++ === lost) process.client.losesAnswer = true;
    };
    const outcome = await settled(process, received(process, lines));
    ended = writes <= lost;
    if (outcome.status === "rejected") continue;
    expect(await collect(processOn(database).log.read("a"))).toHaveLength(lines.length + 1);
    const appended = await settled(process, appendText(outcome.value, "next"));
    expect(appended).toMatchObject({ status: "fulfilled", value: lines.length + 2 });
  }
});
