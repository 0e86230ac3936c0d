import type { Entry } from "../../../checkpoint/records/Entry.ts";
import type { ReadOptions } from "../../../storage/RecordLog.ts";
import type { Expectations } from "../../support/Expectations.ts";
import { putBlob } from "./blobTests.ts";
import { appendText, exampleRecord, logTest, type RecordLogTest, type RecordLogUnderTest } from "./logTest.ts";
import { filled } from "./removalTests.ts";

export const damageTests: readonly RecordLogTest[] = [
  ...[1, 4, 8].map((position) =>
    logTest(`rejects a read if a byte of append ${position} of 8 was altered`, async (storage, expect) => {
      const owned = await filled(storage, 8);
      const before = await storage.entries("a");
      await owned.release();
      await storage.alter("a", position);
      await storage.reopen();
      for (const options of [{}, { after: position - 1 }, { upTo: position }, { sinceSnapshot: true }])
        await expectDamage(storage, expect, options, before.slice(0, position - 1));
      await storage.own("b", (other) => appendText(other, "intact"));
      await storage.expectTexts("b", ["intact"], expect);
    }),
  ),

  logTest("rejects the read of a blob if one of its bytes was altered", async (storage, expect) => {
    const bytes = new TextEncoder().encode("as it was put");
    const [altered, other] = [await putBlob(storage, "a", bytes), await putBlob(storage, "a", bytes)];
    await storage.alterBlob("a", altered);
    await storage.reopen();
    await expect.rejects("the altered blob", () => storage.log.blobs.get("a", altered), "corrupt_blob");
    expect.equal("the other blob", await storage.log.blobs.get("a", other), bytes);
  }),
];

/** Reads until the log reports the damage, and expects unchanged entries before it. */
async function expectDamage(
  storage: RecordLogUnderTest,
  expect: Expectations,
  options: ReadOptions,
  intact: readonly Entry[],
): Promise<void> {
  const subject = `a read with ${JSON.stringify(options)}`;
  const found: Entry[] = [];
  const read = async () => {
    for await (const entry of storage.log.read("a", options)) found.push(entry);
    return found.map(({ position }) => position);
  };
  await expect.rejects(subject, read, "corrupt_log");
  const expected = intact.filter(({ position }) => found.some((entry) => entry.position === position));
  expect.equal(`${subject}, before the damage`, found, expected);
}

const refusal = "storage_failed";

/** Tests that a log reports failures of its storage, and that each append is stored at most once. */
export const lostAnswerTests: readonly RecordLogTest[] = [
  logTest(
    "stores an append once if its response was lost, and ends the ownership if the append failed",
    async (storage, expect) => {
      const owned = await filled(storage, 1);
      const lost = { id: `${owned.generation}-2`, records: [exampleRecord("1")] };
      await storage.loseAnswer();
      const outcome = await storage.settle("a", () => owned.append(lost, 1));
      if (outcome.status === "fulfilled") {
        // The log already checked whether the append is stored.
        expect.equal("the position of the append", [outcome.value, owned.position], [2, 2]);
      } else {
        await expect.rejects("the append", () => Promise.reject(outcome.reason as Error), refusal);
        for (const at of [1, 2]) {
          const further = () => owned.append({ id: `further ${at}`, records: [exampleRecord("further")] }, at);
          await expect.rejects(`an append at ${at} after the one that failed`, further, refusal);
        }
      }
      await owned.release();
      const next = await storage.openWhenFree("a");
      expect.equal("the position of the append, repeated by the next owner", await next.append(lost, 1), 2);
      expect.equal("the position after it", await appendText(next, "2"), 3);
      await next.release();
      await storage.reopen();
      await storage.expectTexts("a", ["0", "1", "2"], expect);
    },
  ),

  logTest("can be opened again if the response of an open was lost", async (storage, expect) => {
    await storage.own("a", (owned) => appendText(owned, "0"));
    await storage.loseAnswer();
    const outcome = await storage.settle("a", () => storage.open("a"));
    if (outcome.status === "fulfilled") await outcome.value.release();
    // The lost `open` may have taken the log. The owner then counts as alive until the lease is over.
    else if ((outcome.reason as { readonly code?: unknown }).code !== "agent_busy")
      await expect.rejects("the open", () => Promise.reject(outcome.reason as Error), refusal);
    const next = await storage.openWhenFree("a");
    expect.equal("the position that the next owner finds", next.position, 1);
    expect.equal("the position of its append", await appendText(next, "1"), 2);
    await storage.expectTexts("a", ["0", "1"], expect);
  }),

  logTest("keeps a blob if the response of its put was lost, or rejects the put", async (storage, expect) => {
    const owned = await filled(storage, 1);
    const bytes = new TextEncoder().encode("large");
    const put = () => storage.log.blobs.put("a", owned.generation, bytes);
    await storage.loseAnswer();
    const outcome = await storage.settle("a", put);
    if (outcome.status === "rejected")
      await expect.rejects("the put", () => Promise.reject(outcome.reason as Error), refusal);
    expect.equal("the blob, put again", await storage.log.blobs.get("a", await put()), bytes);
  }),
];
