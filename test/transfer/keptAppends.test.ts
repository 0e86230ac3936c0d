import { expect, it } from "vitest";
import { collect } from "../../src/testing/conformance/log/logTest.ts";
import { platformSha256 } from "../../src/internal/sha256/platformSha256.ts";
import type { Entry } from "../../src/checkpoint/records/Entry.ts";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import type { ReadOptions } from "../../src/storage/RecordLog.ts";
import { type CopiedLog, keptAppends, SurveyedLines, surveyAnyLog } from "../../src/transfer/keptAppends.ts";

const megabyte = 1024 * 1024;
const record = (text: string) => ({ kind: "note", text });

/** A log with a snapshot among its appends. */
async function logOf(texts: readonly string[], snapshotAt = 0): Promise<CopiedLog> {
  const log = new MemoryRecordLog();
  const owned = await log.open("a", { host: "", processId: 1, nonce: "n" });
  for (const [at, text] of texts.entries())
    await owned.append({ id: `1-${at + 1}`, records: [record(text)], snapshot: at + 1 === snapshotAt }, at);
  await owned.release();
  return log;
}

it("cached lines contain the entries and lines of their log for any range", async () => {
  const log = await logOf(["one", "two é😀", "three", "four", "five"], 3);
  const kept = await keptAppends(log, "a", await platformSha256());
  expect(kept).not.toBe(log);
  const asked: readonly ReadOptions[] = [
    {},
    { after: 2 },
    { upTo: 4 },
    { sinceSnapshot: true },
    { sinceSnapshot: true, upTo: 2 },
    { sinceSnapshot: true, after: 3 },
  ];
  for (const options of asked)
    expect(await collect(kept.read("a", options))).toEqual(await collect(log.read("a", options)));
  for (const options of [{}, { upTo: 3 }])
    expect(await collect(kept.encodedAppends("a", options))).toEqual(await collect(log.encodedAppends("a", options)));
});

it("caching lines reads them from the log once", async () => {
  const log = await logOf(["one", "two"]);
  let asked = 0;
  const counting: CopiedLog = {
    read: () => [] as unknown as AsyncIterable<Entry>,
    encodedAppends: (agentId, options) => {
      asked++;
      return log.encodedAppends(agentId, options);
    },
  };
  const kept = await keptAppends(counting, "a", await platformSha256());
  for (let time = 0; time < 3; time++) await collect(kept.encodedAppends("a"));
  expect(asked).toBe(1);
});

it("a log of more than 16 MiB is read again instead of cached", async () => {
  const log = await logOf(Array.from({ length: 17 }, () => "x".repeat(megabyte)));
  expect(await keptAppends(log, "a", await platformSha256())).toBe(log);
});

it.each([3, 17])("one reading of a log of %i MiB is enough to find its facts", async (megabytes) => {
  const sha256 = await platformSha256();
  const log = await logOf(Array.from({ length: megabytes }, () => "x".repeat(megabyte)));
  const lines = new SurveyedLines(sha256);
  await keptAppends(log, "a", sha256, lines);
  expect(lines.result).toEqual(await surveyAnyLog(log, "a", { sha256 }));
  expect(lines.result.last?.position).toBe(megabytes);
});
