import { agentIdGroups } from "../../support/agentIdGroups.ts";
import { changeDeeply } from "../../support/jsonValues.ts";
import { appendText, exampleSummary, logTest, type RecordLogTest, type RecordLogUnderTest } from "./logTest.ts";
import { prunedRecord } from "./removalTests.ts";

const hash = "0123456789abcdef".repeat(4);
const hostileReferences = [
  ..." ../../../etc/passwd /etc/passwd blob:// blob://x blob:///etc/passwd __proto__ constructor \ud800".split(" "),
  ..." - -1/../../x -01 --1 -1.gz -1\0 -999999999999999999999".split(" ").map((rest) => `blob://${hash}${rest}`),
  `blob://../${hash}-1`,
  `blob://${hash.toUpperCase()}-1`,
  `file://${hash}-1`,
  "x".repeat(10_000),
];
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

export const blobTests: readonly RecordLogTest[] = [
  logTest("keeps bytes of any length and value", async (storage, expect) => {
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const large = Uint8Array.from({ length: 1_000_000 }, (_, at) => (at * 31) % 251);
    const stored: [string, Uint8Array][] = [];
    for (const bytes of [new Uint8Array(), new Uint8Array([0]), all, large])
      stored.push([await putBlob(storage, "a", bytes), bytes]);
    await storage.reopen();
    for (const [reference, bytes] of stored) {
      expect.isTrue("a reference", reference.startsWith("blob://"), "blob://…", reference);
      expect.equal(`a blob of ${bytes.length} bytes`, await storage.log.blobs.get("a", reference), bytes);
    }
    expect.equal("the number of references", new Set(stored.map(([reference]) => reference)).size, 4);
  }),

  logTest("marks compressed bytes in the reference and keeps them unchanged", async (storage, expect) => {
    const owned = await storage.open("a");
    const given = bytesOf("not looked into");
    const reference = await storage.log.blobs.put("a", owned.generation, given, "gzip");
    await appendText(owned, "refers to it");
    await owned.release();
    await storage.reopen();
    expect.isTrue("the reference", reference.endsWith(".gz"), "….gz", reference);
    expect.equal("the bytes", await storage.log.blobs.get("a", reference), given);
    await storage.log.blobs.delete("a", reference);
    expect.equal("the deleted blob", await storage.log.blobs.get("a", reference), undefined);
  }),

  logTest(
    "returns the same reference for equal bytes of one owner, and another one for the next owner",
    async (storage, expect) => {
      const { blobs } = storage.log;
      await storage.own("a", async ({ generation }) => {
        const put = () => blobs.put("a", generation, bytesOf("the same"));
        expect.equal("the second reference", await put(), await put());
      });
      const first = await putBlob(storage, "a", bytesOf("the same"));
      const second = await putBlob(storage, "a", bytesOf("the same"));
      expect.isTrue("the reference of the next owner", second !== first, "another", second);
      await blobs.delete("a", first);
      expect.equal("the deleted blob", await blobs.get("a", first), undefined);
      expect.equal("the blob of the next owner", await blobs.get("a", second), bytesOf("the same"));
      await blobs.delete("a", first);
    },
  ),

  logTest("returns a blob only to its agent", async (storage, expect) => {
    const { blobs } = storage.log;
    const reference = await putBlob(storage, "a", bytesOf("secret"));
    for (const agentId of ["b", "A", "a ", "aa", "unseen"]) {
      if (agentId !== "unseen") await putBlob(storage, agentId, bytesOf("another"));
      expect.equal(`the blob of a, read as agent ${agentId}`, await blobs.get(agentId, reference), undefined);
      await blobs.delete(agentId, reference);
      expect.equal(`the blob after agent ${agentId} deleted it`, await blobs.get("a", reference), bytesOf("secret"));
    }
    await putBlob(storage, "c", bytesOf("secret"));
    await blobs.delete("c", reference);
    expect.equal("the blob after c put and deleted the same", await blobs.get("a", reference), bytesOf("secret"));
  }),

  logTest("finds no blob for an unknown or malformed reference", async (storage, expect) => {
    const { blobs } = storage.log;
    const reference = await putBlob(storage, "a", bytesOf("kept"));
    for (const hostile of [...hostileReferences, `${reference}x`, ` ${reference}`, reference.slice(0, -1)]) {
      expect.equal(`the blob with the reference ${JSON.stringify(hostile)}`, await blobs.get("a", hostile), undefined);
      await blobs.delete("a", hostile);
    }
    expect.equal("the blob after all of them were deleted", await blobs.get("a", reference), bytesOf("kept"));
  }),

  logTest("keeps the blobs of earlier owners, and blobs that a prune does not remove", async (storage, expect) => {
    const references: string[] = [];
    for (const text of ["first", "second"]) references.push(await putBlob(storage, "a", bytesOf(text)));
    await storage.own("a", async (owned) => {
      for (const text of ["3", "4", "5"]) await appendText(owned, text);
      const record = prunedRecord(await storage.entries("a"), 3, 4);
      await owned.append({ id: "pruning", records: [record] }, 5);
      await owned.prune();
    });
    await storage.reopen();
    for (const [at, text] of ["first", "second"].entries()) {
      const found = await storage.log.blobs.get("a", references[at] ?? "");
      expect.equal(`the blob of owner ${at + 1}`, found, bytesOf(text));
    }
  }),

  logTest("keeps a stored blob when a caller changes its bytes", async (storage, expect) => {
    const bytes = bytesOf("unchanged");
    const reference = await putBlob(storage, "a", bytes);
    changeDeeply(bytes);
    changeDeeply(await storage.log.blobs.get("a", reference));
    expect.equal("the blob", await storage.log.blobs.get("a", reference), bytesOf("unchanged"));
  }),

  logTest("separates the blobs of agents with similar ids", async (storage, expect) => {
    const references = new Map<string, string>();
    for (const agentId of new Set(Object.values(agentIdGroups).flatMap((ids) => ids.slice(0, 4))))
      references.set(agentId, await putBlob(storage, agentId, bytesOf(agentId)));
    for (const [agentId, reference] of references) {
      const found = await storage.log.blobs.get(agentId, reference);
      expect.equal(`the blob of agent ${JSON.stringify(agentId)}`, found, bytesOf(agentId));
    }
  }),
];

/** Puts a blob and appends a record that refers to it, because a storage may remove unreferenced blobs. */
export function putBlob(storage: RecordLogUnderTest, agentId: string, bytes: Uint8Array): Promise<string> {
  return storage.own(agentId, async (owned) => {
    const reference = await storage.log.blobs.put(agentId, owned.generation, bytes);
    const record = { kind: "storage", lane: 1, key: "large", value: { $blob: [reference, bytes.length] } };
    await owned.append({ id: `${owned.generation}-${owned.position + 1}`, records: [record] }, owned.position);
    return reference;
  });
}

export const logSeparationTests: readonly RecordLogTest[] = [
  ...Object.entries(agentIdGroups).map(([kind, agentIds]) =>
    logTest(`separates agents with ids ${kind}`, async (storage, expect) => {
      for (const [index, agentId] of agentIds.entries()) {
        await storage.expectTexts(agentId, [], expect);
        const summary = exampleSummary(agentId, "queued", { order: String(index).padStart(3, "0") });
        await storage.own(agentId, (owned) => appendText(owned, agentId, { summary }));
      }
      await storage.reopen();
      for (const agentId of agentIds) await storage.expectTexts(agentId, [agentId], expect);
      expect.equal("the agents listed", await storage.listIds(), agentIds);
      const [first = "", ...others] = agentIds;
      const dropped = await storage.open(first);
      const owners = await Promise.all(others.map((agentId) => storage.open(agentId)));
      await dropped.drop();
      expect.equal("the agents listed after the first was removed", await storage.listIds(), others);
      for (const [index, agentId] of others.entries()) {
        const generation = (await storage.log.owner(agentId))?.generation;
        expect.equal(
          `the owner of agent ${JSON.stringify(agentId.slice(0, 40))}`,
          generation,
          owners[index]?.generation,
        );
        await owners[index]?.release();
        await storage.expectTexts(agentId, [agentId], expect);
      }
    }),
  ),

  logTest("allows one owner for each agent without mixing their appends", async (storage, expect) => {
    const agentIds = ["a", "b", "aa", "c", "A"];
    const owners = await Promise.all(agentIds.map((agentId) => storage.open(agentId)));
    for (let n = 1; n <= 4; n++) {
      const positions = await Promise.all(owners.map((owned, index) => appendText(owned, `${agentIds[index]} ${n}`)));
      expect.equal(`the positions of append ${n}`, positions, [n, n, n, n, n]);
    }
    await owners[0]?.drop();
    await Promise.all(owners.slice(1).map((owned) => owned.release()));
    await storage.reopen();
    await storage.expectTexts("a", [], expect);
    for (const agentId of agentIds.slice(1)) {
      const texts = [1, 2, 3, 4].map((n) => `${agentId} ${n}`);
      await storage.expectTexts(agentId, texts, expect);
    }
  }),
];
