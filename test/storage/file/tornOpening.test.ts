import { readFile, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { expect, it } from "vitest";
import {
  append,
  collect,
  nextOwner,
  segmentPaths,
  testDirectory,
  testLog,
  TestMachine,
  textsOf,
} from "./support/fixture.ts";

const sector = 512;

// What a take-over writes first is several sectors long and not yet synced when power is lost.
it("skips the first lines of a takeover after a power loss of any sectors", async () => {
  const directory = await testDirectory();
  const machine = new TestMachine();
  const processIdentity = machine.start();
  const log = testLog(directory, { processIdentity });
  const texts = ["one", "two", "three"].map((text) => `${text} ${"x".repeat(400)}`);
  const first = await log.open("a", nextOwner());
  for (const text of texts) await append(first, text);
  await first.release();
  const [lower = ""] = await segmentPaths(directory, "a");
  const before = await readFile(lower);
  await (await log.open("a", nextOwner())).release();
  const [newest = ""] = await segmentPaths(directory, "a");
  const opened = (await readFile(newest)).subarray(0, -`{"closed":{},"checksum":"${"x".repeat(43)}"}\n`.length);
  const claimEnd = opened.indexOf(10) + 1;
  const sectors = Math.ceil(opened.length / sector);
  expect(sectors).toBeGreaterThan(3);
  // The segment before is still there: it is removed only after the sync.
  await writeFile(lower, before);
  for (let kept = 0; kept < 2 ** sectors - 1; kept++) {
    const torn = Buffer.from(opened);
    for (let at = claimEnd; at < torn.length; at++) if (((kept >> Math.floor(at / sector)) & 1) === 0) torn[at] = 0;
    await writeFile(newest, torn);
    expect(textsOf(await collect(log.read("a")))).toEqual(texts);
  }
  machine.end(processIdentity);
  const next = await testLog(directory, { processIdentity: machine.start() }).open("a", nextOwner());
  await append(next, "on");
  expect(textsOf(await collect(log.read("a")))).toEqual([...texts, "on"]);
});

it("skips a segment with only a claim, even if the previous segment was lost", async () => {
  const directory = await testDirectory();
  const log = testLog(directory);
  const first = await log.open("a", nextOwner());
  await append(first, "one");
  await first.release();
  const [lower = ""] = await segmentPaths(directory, "a");
  const before = await readFile(lower);
  await (await log.open("a", nextOwner())).release();
  await (await log.open("a", nextOwner())).release();
  const [newest = ""] = await segmentPaths(directory, "a");
  const bytes = await readFile(newest);
  await writeFile(newest, bytes.subarray(0, bytes.indexOf(10) + 1));
  await writeFile(lower, before);
  expect((await segmentPaths(directory, "a")).map((path) => basename(path))).toEqual(["1.jsonl", "3.jsonl"]);
  expect(textsOf(await collect(log.read("a")))).toEqual(["one"]);
});

it("reports a torn takeover as damage if the source of its copied lines is missing", async () => {
  const directory = await testDirectory();
  const log = testLog(directory);
  for (const text of ["one", "two"]) {
    const owned = await log.open("a", nextOwner());
    await append(owned, text);
    await owned.release();
  }
  await (await log.open("a", nextOwner())).release();
  const [newest = ""] = await segmentPaths(directory, "a");
  const bytes = await readFile(newest);
  bytes.fill(0, bytes.indexOf(10) + 1);
  await writeFile(newest, bytes);
  await expect(collect(log.read("a"))).rejects.toMatchObject({ code: "corrupt_log", file: newest });
});
