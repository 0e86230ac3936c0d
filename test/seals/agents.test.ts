import { persistence } from "agent-persistence";
import { encrypted } from "agent-persistence/encryption";
import { sealed, verifySeals, type SealKeeper, type SealOptions } from "agent-persistence/seals";
import { PersistenceSession } from "agent-persistence/openai-agents";
import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter } from "agent-persistence/testing";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import { inspect } from "agent-persistence/inspect";
import { describe, expect, it } from "vitest";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { bytesOf, finish, inPieces, payer, storages, waitingPayer } from "../transfer/movedAgents.ts";
import { delegatingLog } from "../testing/delegatingLog.ts";
import { MemoryKeeper, newKey, testKey } from "./sealedHarness.ts";

const { sign, verify } = testKey;

/** All logs whose seals do not match, and the number of appends that are not sealed. */
async function changed(storage: LogPersistenceStorageProvider, options: Parameters<typeof verifySeals>[1] = {}) {
  const found = await collect(verifySeals(storage, options));
  expect(found.length).toBeGreaterThan(0);
  return found.filter(({ changes, error }) => changes.length > 0 || error !== undefined);
}

async function sealsIn({ log }: LogPersistenceStorageProvider, agentId: string) {
  const positions: number[] = [];
  for await (const { position, records } of log.read(agentId))
    if ((records.at(-1) as { readonly seal?: unknown }).seal !== undefined) positions.push(position);
  return positions;
}

for (const [name, open] of Object.entries(storages))
  describe(`agents on a sealed storage in ${name}`, () => {
    async function sealedStorage(options: Partial<SealOptions> = {}) {
      const inner = await open();
      const keepAt = new MemoryKeeper();
      const wrap = () => sealed(inner, { sign, verify, keepAt, ...options });
      return { inner, keepAt, wrap, storage: wrap() };
    }

    it("wait, are taken over, and finish with a seal at the end of each run", async () => {
      const { inner, wrap, storage } = await sealedStorage();
      await waitingPayer(storage);
      expect(await changed(storage)).toEqual([]);
      expect(await finish(payer(wrap()))).toMatchObject({ status: "completed" });
      const [found] = await collect(verifySeals(inner, { verify }));
      expect(found).toMatchObject({ agentId: "order-7", unsealed: 0, changes: [] });
      expect(await sealsIn(inner, "order-7")).toContain(found?.position);
      expect(await sealsIn(storage, "order-7")).toEqual([]);
    });

    it("keep each seal with the generation that a pruning has given to the owner", async () => {
      const { keepAt, storage } = await sealedStorage({ every: 1 });
      const owned = await storage.log.open("a", processOwner());
      const append = (n: number) => owned.append({ id: `${n}`, records: [{ kind: "x" }] }, n - 1);
      await append(1);
      await owned.prune();
      await append(2);
      expect(keepAt.seals.get("a")).toMatchObject({ generation: owned.generation, position: 2 });
      await owned.release();
    });

    it("can be read without the key, and without sealed()", async () => {
      const { inner, storage } = await sealedStorage();
      await waitingPayer(storage);
      const plain = persistence(payer(inner).agent).agent("order-7");
      const here = payer(storage).feature.agent("order-7");
      expect(await plain.getCheckpoints()).toEqual(await here.getCheckpoints());
      expect(await inspect(inner).agent("order-7")).toMatchObject({ status: "waiting", damage: [] });
      expect(await finish(payer(inner))).toMatchObject({ status: "completed" });
    });

    it("keep valid seals when they are pruned, rolled back, forked and deleted", async () => {
      const { inner, storage } = await sealedStorage({ every: 3 });
      const waiting = await waitingPayer(storage);
      await finish(waiting);
      for (const input of ["ben", "cy"]) {
        await waiting.agent.run(input, { agentId: "order-7" });
        await finish(waiting);
      }
      const fork = await waiting.durable.fork("fork-1");
      expect(await changed(storage)).toEqual([]);
      const pruned = await waiting.feature.prune({ policy: { maxCheckpoints: 2 } });
      expect(pruned.pruned.map(({ agentId }) => agentId)).toContain("order-7");
      expect(await changed(storage)).toEqual([]);
      await waiting.agent.run("dan", { agentId: "order-7" });
      await finish(waiting);
      const [first] = await waiting.durable.getCheckpoints();
      await waiting.durable.rollbackToCheckpoint(first?.checkpointId ?? "");
      await waiting.agent.run("eve", { agentId: fork.agentId });
      expect(await changed(storage)).toEqual([]);
      await waiting.feature.prune({ policy: { maxCheckpoints: 2 } });
      await waiting.feature.deleteAgent(fork.agentId);
      expect(await changed(inner, { verify })).toEqual([]);
    });

    it("are imported with seals of the new storage", async () => {
      const { storage } = await sealedStorage();
      await waitingPayer(storage);
      const key = newKey();
      const target = sealed(await open(), { sign: key.sign, verify: key.verify, every: 3 });
      await importAgent(target, exportAgent(storage, "order-7", { move: true }));
      expect(await changed(target)).toEqual([]);
      expect(await finish(payer(target))).toMatchObject({ status: "completed" });
      expect(await changed(target)).toEqual([]);
      expect(await changed(target, { verify })).toMatchObject([{ changes: [{}, {}, { kind: "unsealed" }] }]);
    });

    it("continue after a crash at each append", async () => {
      for (let saves = 0, isDone = false; !isDone; saves++) {
        const { inner, keepAt, storage } = await sealedStorage({ every: 2 });
        const crashing = sealed(crashAfter(inner, saves), { sign, verify, keepAt, every: 2 });
        await waitingPayer(crashing as never)
          .then(() => (isDone = true))
          .catch(() => {});
        await finish(await waitingPayer(storage, "order-7"));
        const found = await collect(verifySeals(storage));
        expect([saves, found.map(({ changes, unsealed }) => [changes, unsealed])]).toEqual([saves, [[[], 0]]]);
      }
    });

    it("report no change after an interrupted deletion, which can be repeated", async () => {
      const { inner, keepAt, storage } = await sealedStorage({ every: 2 });
      await waitingPayer(storage);
      const unfinished: SealKeeper = {
        read: (agentId) => keepAt.read(agentId),
        write: (agentId, seal) => (seal.dropped ? Promise.reject(new Error("crash")) : keepAt.write(agentId, seal)),
      };
      const crashing = payer(sealed(inner, { sign, verify, keepAt: unfinished, every: 2 }));
      await expect(crashing.feature.deleteAgent("order-7")).rejects.toMatchObject({ code: "storage_failed" });
      expect(await changed(storage)).toEqual([]);
      await payer(storage).feature.deleteAgent("order-7");
      expect(keepAt.seals.get("order-7")).toMatchObject({ dropped: true });
      expect(await finish(await waitingPayer(storage))).toMatchObject({ status: "completed" });
      expect(await changed(storage)).toEqual([]);
    });

    it.each(["a run", "an import"])(
      "report no change if %s uses the id again before the deletion has ended",
      async (how) => {
        const { inner, keepAt, storage } = await sealedStorage({ every: 2 });
        const source = await open();
        await waitingPayer(source);
        const short = await bytesOf(exportAgent(source, "order-7"));
        await finish(await waitingPayer(storage));
        await payer(storage).agent.run("ben", { agentId: "order-7" });
        const late: SealKeeper = {
          read: (agentId) => keepAt.read(agentId),
          write: async (agentId, seal) => {
            if (seal.dropped && how === "a run") await waitingPayer(storage);
            if (seal.dropped && how === "an import") await importAgent(storage, inPieces(short, 1000));
            expect(await changed(storage)).toEqual([]);
            await keepAt.write(agentId, seal);
          },
        };
        await payer(sealed(inner, { sign, verify, keepAt: late, every: 2 })).feature.deleteAgent("order-7");
        expect(await changed(storage)).toEqual([]);
        if (how === "an import") await payer(storage).feature.agent("order-7").takeOver();
        expect(await finish(payer(storage))).toMatchObject({ status: "completed" });
        expect(await changed(storage)).toEqual([]);
      },
    );

    it("report no change if an import in place of a deleted agent is cut short before its seal is kept", async () => {
      const { inner, keepAt, storage } = await sealedStorage({ every: 2 });
      const source = await open();
      await waitingPayer(source);
      const short = await bytesOf(exportAgent(source, "order-7"));
      await finish(await waitingPayer(storage));
      await payer(storage).feature.deleteAgent("order-7");
      const crashing: SealKeeper = {
        read: (agentId) => keepAt.read(agentId),
        write: (agentId, seal) => (seal.dropped ? keepAt.write(agentId, seal) : Promise.reject(new Error("crash"))),
      };
      const cut = sealed(inner, { sign, verify, keepAt: crashing, every: 2 });
      await expect(importAgent(cut, inPieces(short, 1000))).rejects.toMatchObject({ code: "storage_failed" });
      expect(await changed(storage)).toEqual([]);
      await payer(storage).feature.agent("order-7").takeOver();
      expect(await finish(payer(storage))).toMatchObject({ status: "completed" });
      expect(await changed(storage)).toEqual([]);
    });

    it("find a copy that is restored after an interrupted deletion and another open of its id", async () => {
      const { inner, keepAt, storage, wrap } = await sealedStorage({ every: 2 });
      await finish(await waitingPayer(storage));
      const entries = await collect(inner.log.read("order-7"));
      const unfinished: SealKeeper = {
        read: (agentId) => keepAt.read(agentId),
        write: (agentId, seal) => (seal.dropped ? Promise.reject(new Error("crash")) : keepAt.write(agentId, seal)),
      };
      const crashing = payer(sealed(inner, { sign, verify, keepAt: unfinished, every: 2 }));
      await expect(crashing.feature.deleteAgent("order-7")).rejects.toMatchObject({ code: "storage_failed" });
      await (await wrap().log.open("order-7", processOwner())).release();
      async function* read() {
        yield* entries;
      }
      const copy = new LogPersistenceStorageProvider(delegatingLog(inner.log, { read }));
      expect(await changed(copy, { verify, keepAt, agentIds: ["order-7"] })).toMatchObject([
        { changes: [{ kind: "inserted", position: entries.length }] },
      ]);
    });

    it("report no change if they are deleted while they are verified", async () => {
      const { keepAt, storage } = await sealedStorage({ every: 2 });
      await finish(await waitingPayer(storage));
      let reads = 0;
      const meanwhile: SealKeeper = {
        read: async (agentId) => {
          const seal = await keepAt.read(agentId);
          if (++reads > 1) return seal;
          await payer(storage).feature.deleteAgent("order-7");
          return seal;
        },
        write: (...given) => keepAt.write(...given),
      };
      expect(await changed(storage, { keepAt: meanwhile, agentIds: ["order-7"] })).toEqual([]);
      expect(reads).toBeGreaterThan(1);
    });

    it("can be imported in place of a longer agent that was deleted", async () => {
      const { storage } = await sealedStorage({ every: 2 });
      const source = await open();
      await waitingPayer(source);
      const short = await bytesOf(exportAgent(source, "order-7"));
      await finish(await waitingPayer(storage));
      await payer(storage).agent.run("ben", { agentId: "order-7" });
      await payer(storage).feature.deleteAgent("order-7");
      await importAgent(storage, inPieces(short, 1000));
      expect(await changed(storage)).toEqual([]);
      await payer(storage).feature.agent("order-7").takeOver();
      expect(await finish(payer(storage))).toMatchObject({ status: "completed" });
      expect(await changed(storage)).toEqual([]);
    });

    it("share the storage with sessions and inboxes", async () => {
      const { storage } = await sealedStorage();
      const waiting = await waitingPayer(storage);
      await waiting.durable.send("news", { at: 1 });
      const session = new PersistenceSession({ storage, sessionId: "s" });
      for (const content of ["one", "two"]) await session.addItems([{ type: "message", role: "user", content }]);
      const found = await collect(verifySeals(storage));
      expect(found.map(({ agentId }) => agentId).toSorted()).toEqual(["inbox:order-7", "order-7", "session:s"]);
      expect(found.flatMap(({ changes }) => changes)).toEqual([]);
    });

    it("can be sealed over and under encryption", async () => {
      const keys = testKeys("first");
      const over = sealed(encrypted(await open(), { keys }), { sign, verify });
      const below = sealed(await open(), { sign, verify });
      for (const storage of [over, encrypted(below, { keys })]) {
        await finish(await waitingPayer(storage));
        await payer(storage).feature.prune({ policy: { maxCheckpoints: 2 } });
        expect(await payer(storage).feature.agent("order-7").getCheckpoints()).toHaveLength(2);
      }
      expect(await changed(over)).toEqual([]);
      expect(await changed(below)).toEqual([]);
    });
  });

describe("sealed()", () => {
  it("rejects unknown options and storages without a log", async () => {
    const storage = await storages["memory"]!();
    const invalid = { code: "invalid_input" };
    const options = { sign: testKey.sign, verify: testKey.verify };
    expect(() => sealed(storage, { ...options, every: 0 })).toThrow(expect.objectContaining(invalid));
    expect(() => sealed(storage, { ...options, kept: true } as never)).toThrow(expect.objectContaining(invalid));
    expect(() => sealed(storage, { sign: testKey.sign } as never)).toThrow(expect.objectContaining(invalid));
    const three = {
      getCheckpoints: async () => [],
      saveCheckpoint: async () => {},
      getLatestCheckpoint: async () => undefined,
    };
    expect(() => sealed(three, options)).toThrow(expect.objectContaining({ code: "not_supported" }));
    await expect(collect(verifySeals(storage))).rejects.toMatchObject(invalid);
  });
});
