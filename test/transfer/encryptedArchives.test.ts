import { randomBytes } from "node:crypto";
import { AIAgent, Persistence } from "agent-persistence";
import { exportAgent, finishMove, importAgent } from "agent-persistence/transfer";
import { encrypted } from "agent-persistence/encryption";
import { sealed } from "agent-persistence/seals";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { ByteReader } from "../../src/transfer/format/ByteReader.ts";
import { decryptedArchive, encryptedArchive } from "../../src/transfer/format/encryptedArchive.ts";
import { keyOf, testKeys } from "../encryption/encryptedHarness.ts";
import { testKey } from "../seals/sealedHarness.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { bytesOf, finish, inPieces, payer, storages, waitingPayer } from "./movedAgents.ts";

const keys = testKeys("first");
/** The bytes of an encrypted chunk. */
const chunkBytes = 64 * 1024 + 28;
const open = (): Promise<LogPersistenceStorageProvider> =>
  (storages["memory"] as () => Promise<LogPersistenceStorageProvider>)();

interface CutArchive {
  readonly header: Buffer;
  readonly chunks: readonly Buffer[];
}

function cut(archive: Buffer): CutArchive {
  const start = archive.indexOf("\n") + 1;
  const chunks: Buffer[] = [];
  for (let at = start; at < archive.length; at += chunkBytes) chunks.push(archive.subarray(at, at + chunkBytes));
  return { header: archive.subarray(0, start), chunks };
}

/** An agent whose archive has several chunks. */
async function largeAgent(agentId: string): Promise<LogPersistenceStorageProvider> {
  const storage = await open();
  const agent = new AIAgent({ promptExecutor: scriptedModel(["done"]), llmModel: "scripted" });
  await agent.install(Persistence, { storage }).run(randomBytes(300_000).toString("base64"), { agentId });
  return storage;
}

const flipped = (bytes: Buffer, at: number): Buffer => {
  const changed = Buffer.from(bytes);
  changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
  return changed;
};
const replaced = (bytes: Buffer, from: string, to: string) =>
  Buffer.from(bytes.toString("latin1").replace(from, to), "latin1");

type Attack = (archive: CutArchive, other: CutArchive) => readonly Buffer[];

/** What someone without a key makes of an archive. */
const attacks: Readonly<Record<string, Attack>> = {
  "a changed byte in the first chunk": ({ header, chunks: [first, ...rest] }) => [
    header,
    flipped(first as Buffer, 99),
    ...rest,
  ],
  "a changed byte in the last chunk": ({ header, chunks }) => [
    header,
    ...chunks.slice(0, -1),
    flipped(chunks.at(-1) as Buffer, 20),
  ],
  "a changed tag": ({ header, chunks: [first, ...rest] }) => [
    header,
    flipped(first as Buffer, chunkBytes - 1),
    ...rest,
  ],
  "a missing first chunk": ({ header, chunks }) => [header, ...chunks.slice(1)],
  "a missing chunk": ({ header, chunks }) => [header, ...chunks.slice(0, 2), ...chunks.slice(3)],
  "a missing last chunk": ({ header, chunks }) => [header, ...chunks.slice(0, -1)],
  "a last chunk that is cut short": ({ header, chunks }) => [
    header,
    ...chunks.slice(0, -1),
    (chunks.at(-1) as Buffer).subarray(0, -40),
  ],
  "only its header": ({ header }) => [header],
  "two chunks in another order": ({ header, chunks: [one, two, three, ...rest] }) => [
    header,
    one as Buffer,
    three as Buffer,
    two as Buffer,
    ...rest,
  ],
  "a repeated chunk": ({ header, chunks: [one, ...rest] }) => [header, one as Buffer, one as Buffer, ...rest],
  "a repeated last chunk": ({ header, chunks }) => [header, ...chunks, chunks.at(-1) as Buffer],
  "bytes after its end": ({ header, chunks }) => [header, ...chunks, Buffer.from("x")],
  "a chunk of another archive of the agent": ({ header, chunks: [, ...rest] }, { chunks: [first] }) => [
    header,
    first as Buffer,
    ...rest,
  ],
  "the header of another archive of the agent": ({ chunks }, { header }) => [header, ...chunks],
  "another agent id": ({ header, chunks }) => [replaced(header, '"agentId":"a"', '"agentId":"b"'), ...chunks],
  "another position": ({ header, chunks }) => [replaced(header, '"position":', '"position":1'), ...chunks],
  "another kind of log": ({ header, chunks }) => [replaced(header, '"id":', '"shape":"thread","id":'), ...chunks],
  "another data key": ({ header, chunks }) => [replaced(header, '"wrapped":"', '"wrapped":"AAAA'), ...chunks],
};

describe("an encrypted archive", () => {
  it.each([{}, { gzip: true }])("is imported with its keys, in pieces of any size %j", async (options) => {
    const source = await largeAgent("a");
    const archive = await bytesOf(exportAgent(source, "a", { keys, ...options }));
    const plain = await bytesOf(exportAgent(source, "a", options));
    expect(cut(archive).chunks.length).toBeGreaterThan(4);
    expect(archive.length - plain.length).toBeLessThan(1_000);
    for (const size of [1_000, chunkBytes, 1_000_000]) {
      const target = await open();
      await importAgent(target, inPieces(archive, size), { keys: testKeys("second", "first") });
      const [before, after] = [await collect(source.log.read("a")), await collect(target.log.read("a"))];
      expect(after.slice(0, before.length)).toEqual(before);
    }
  });

  it("shows only ids and positions", async () => {
    const source = await open();
    await waitingPayer(source, "a");
    const { header } = cut(await bytesOf(exportAgent(source, "a", { keys })));
    expect(JSON.parse(header.toString())).toEqual({
      encrypted: 1,
      library: "agent-persistence",
      agentId: "a",
      position: expect.any(Number),
      generation: 1,
      id: expect.any(String),
      keyId: "first",
      wrapped: expect.any(String),
    });
  });

  it("is rejected after each change by someone without a key, and imports nothing", async () => {
    const source = await largeAgent("a");
    const [one, other] = [
      cut(await bytesOf(exportAgent(source, "a", { keys }))),
      cut(await bytesOf(exportAgent(source, "a", { keys }))),
    ];
    const found: Record<string, unknown> = {};
    for (const [name, attack] of Object.entries(attacks)) {
      const target = await open();
      const importing = importAgent(target, inPieces(Buffer.concat(attack(one, other)), 50_000), { keys });
      found[name] = await importing.then(
        () => "imported",
        ({ code }: { readonly code: string }) => code,
      );
      expect(await collect(target.log.list())).toEqual([]);
      expect(await collect(target.log.read("a"))).toEqual([]);
    }
    expect(found).toEqual(Object.fromEntries(Object.keys(attacks).map((name) => [name, "authentication_failed"])));
  });

  it("needs its key", async () => {
    const source = await open();
    await waitingPayer(source, "a");
    const archive = await bytesOf(exportAgent(source, "a", { keys }));
    const missing = { code: "key_missing", agentId: "a", keyId: "first" };
    await expect(importAgent(await open(), inPieces(archive, 999))).rejects.toMatchObject({
      ...missing,
      message: expect.stringContaining("pass its keys"),
    });
    const importing = importAgent(await open(), inPieces(archive, 999), { keys: testKeys("second") });
    await expect(importing).rejects.toMatchObject(missing);
    const another = { current: "first", get: () => keyOf("another") };
    await expect(importAgent(await open(), inPieces(archive, 999), { keys: another })).rejects.toMatchObject({
      code: "authentication_failed",
    });
    await expect(
      bytesOf(exportAgent(source, "a", { keys: { current: "x", get: () => undefined } })),
    ).rejects.toMatchObject({
      code: "key_missing",
      keyId: "x",
    });
  });

  it("cannot be replaced by a plain one if its keys are given", async () => {
    const source = await open();
    await waitingPayer(source, "a");
    const target = await open();
    await expect(importAgent(target, exportAgent(source, "a"), { keys })).rejects.toMatchObject({
      code: "invalid_archive",
      message: expect.stringContaining("it is not encrypted"),
    });
    expect(await collect(target.log.list())).toEqual([]);
  });

  it("is the default of an encrypted storage, also under seals", async () => {
    const source = encrypted(await open(), { keys });
    const over = sealed(source, { sign: testKey.sign, verify: testKey.verify });
    await waitingPayer(over, "a");
    for (const storage of [source, over]) {
      const archive = await bytesOf(exportAgent(storage, "a"));
      expect(archive.toString("latin1")).not.toContain('"ann"');
      await expect(importAgent(await open(), inPieces(archive, 999))).rejects.toMatchObject({ code: "key_missing" });
      const target = encrypted(await open(), { keys });
      expect((await importAgent(target, inPieces(archive, 999))).agentId).toBe("a");
    }
    const plain = await bytesOf(exportAgent(source, "a", { keys: false }));
    expect(plain.toString("latin1")).toContain("ann");
    expect((await importAgent(await open(), inPieces(plain, 999))).agentId).toBe("a");
    expect((await importAgent(encrypted(await open(), { keys }), inPieces(plain, 999))).agentId).toBe("a");
  });

  it("moves an agent between storages with different keys", async () => {
    const here = encrypted(await open(), { keys });
    const there = encrypted(await open(), { keys: testKeys("second") });
    const { paid } = await waitingPayer(here, "a");
    const { receipt } = await importAgent(there, exportAgent(here, "a", { move: true, gzip: true }), { keys });
    await finishMove(here, "a", receipt);
    await finish(payer(there, paid), "a");
    expect(paid).toEqual(["ann", "ann"]);
  });

  it("is wrapped by a key management service", async () => {
    const contexts: string[] = [];
    const service = {
      current: "kms",
      get: () => ({
        wrap: async (bytes: Uint8Array, context: string) => {
          contexts.push(context);
          return bytes.map((byte) => byte ^ 5);
        },
        unwrap: async (bytes: Uint8Array, context: string) =>
          contexts.includes(context) ? bytes.map((byte) => byte ^ 5) : undefined,
      }),
    };
    const source = await open();
    await waitingPayer(source, "a");
    const archive = await bytesOf(exportAgent(source, "a", { keys: service }));
    expect((await importAgent(await open(), inPieces(archive, 999), { keys: service })).agentId).toBe("a");
    expect(contexts).toEqual([expect.stringContaining('"agent-persistence archive key","a"')]);
  });

  it("is encrypted and decrypted while it is read", async () => {
    const facts = { agentId: "a", position: 1, generation: 1 };
    let read = 0;
    async function* endless() {
      for (;;) {
        read++;
        yield new Uint8Array(chunkBytes);
      }
    }
    const plain = await decryptedArchive(new ByteReader(encryptedArchive(endless(), facts, keys)), {
      source: keys,
      isRequired: true,
    });
    const bytes = plain.rest();
    for (let taken = 0; taken < 50; taken++) expect((await bytes.next()).value).toHaveLength(64 * 1024);
    expect(read).toBeLessThan(54);
    await bytes.return();
  });
});
