import { processOwner } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { appendText, collect, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { engines } from "./engines.ts";

it.each(engines)("a range of a log $name may end, or start, behind every position", async ({ harness }) => {
  const { log } = await harness();
  const owned = await log.open("a", processOwner());
  for (const text of ["1", "2", "3"]) await appendText(owned, text);
  for (const behind of [4, 2 ** 53 - 1, 2 ** 64, 1e300, Infinity]) {
    expect(await collect(log.read("a", { after: behind }))).toEqual([]);
    expect(await collect(log.read("a", { after: 1, upTo: behind }))).toHaveLength(2);
    expect(await collect(log.read("a", { upTo: behind, sinceSnapshot: true }))).toHaveLength(3);
    expect(await collect(log.encodedAppends?.("a", { upTo: behind }) as AsyncIterable<Uint8Array>)).toHaveLength(3);
  }
  await owned.release();
});

it.each(engines)("a list $name may have a fractional limit", async ({ harness }) => {
  const { log } = await harness();
  for (const agentId of ["a", "b", "c"]) {
    const owned = await log.open(agentId, processOwner());
    await appendText(owned, "1", { summary: exampleSummary(agentId, "queued", { order: agentId }) });
    await owned.release();
  }
  const lengths = [0, 0.5, 1.5, 2, 2.5, Infinity].map(async (limit) => (await collect(log.list({ limit }))).length);
  expect(await Promise.all(lengths)).toEqual([0, 1, 2, 2, 3, 3]);
});
