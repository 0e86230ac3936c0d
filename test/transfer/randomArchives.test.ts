import fc from "fast-check";
import { persistence } from "agent-persistence";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import { describe, expect, it } from "vitest";
import { assertSoundLog, readPaced } from "../../src/storage/readEntries.ts";
import { linesAgent } from "../persistence/lines/support/linesAgent.ts";
import { crashing, goOn, livePartly } from "../persistence/lines/support/liveLines.ts";
import { linesOf, type RandomLines } from "../persistence/lines/support/randomLines.ts";
import { file, memory } from "../persistence/support/storages.ts";
import { bytesOf, inPieces } from "./movedAgents.ts";
import { cases } from "../soak/cases.ts";

const pairs = [
  [memory, file],
  [file, memory],
  [memory, memory],
] as const;

async function checkArchives(lines: RandomLines, [from, to]: (typeof pairs)[number], keep: number): Promise<void> {
  const [source, target, back] = [await from.open(), await to.open(), await from.open()];
  const world = await livePartly(lines, crashing(source));
  const entries = await readPaced(source().log, "a");
  if (entries.length === 0) return;
  const feature = persistence(linesAgent(world, source()));
  const here = feature.agent("a");
  if (keep > 0) await feature.prune({ agentId: "a", policy: { maxCheckpoints: keep + 1 } });
  const archive = await bytesOf(exportAgent(source(), "a"));
  await importAgent(target(), inPieces(archive, 1000 + archive.length / 3), { trustApprovals: true });
  expect(await bytesOf(exportAgent(target(), "a"))).toEqual(archive);
  await importAgent(back(), exportAgent(target(), "a", { gzip: true }), { trustApprovals: true });
  expect(await bytesOf(exportAgent(back(), "a"))).toEqual(archive);
  const there = persistence(linesAgent(world, target())).agent("a");
  expect(await there.getCheckpoints()).toEqual(await here.getCheckpoints());
  expect(await there.getMessages()).toEqual(await here.getMessages());
  expect(await there.getRequests()).toEqual(await here.getRequests());
  await assertSoundLog(await readPaced(target().log, "a"));
  await there.takeOver();
  await goOn(world, crashing(target), "a");
  expect(world.problems).toEqual([]);
  const gone = await bytesOf(exportAgent(target(), "a", { move: true }));
  const last = await to.open();
  await importAgent(last(), inPieces(gone, 5000));
  expect(await persistence(linesAgent(world, last())).agent("a").getCheckpoints()).toEqual(
    await there.getCheckpoints(),
  );
}

describe("random logs", () => {
  it.each([1, 2])(
    "with branches and called agents %i deep, pruned or not, are exported and imported unchanged and continue",
    async (depth) => {
      const property = fc.asyncProperty(linesOf(depth), fc.constantFrom(...pairs), fc.nat(3), checkArchives);
      await fc.assert(property, { numRuns: cases(3, 20) - depth, timeout: 600_000 });
    },
  );
});
