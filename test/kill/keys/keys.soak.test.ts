import { readFile } from "node:fs/promises";
import { encrypted } from "agent-persistence/encryption";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { processOwner } from "../../../src/storage/ReleasableLog.ts";
import { testKeys } from "../../encryption/encryptedHarness.ts";
import { bytesInSchema, bytesUnder } from "../../encryption/storedBytes.ts";
import { cases, wholeSoak } from "../../soak/cases.ts";
import { sharedEngines } from "../../storage/engines/engines.ts";
import { storageAt, type StoragePlace } from "../../storage/engines/storageAt.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { libsql } from "../../storage/sqlite/libsql.ts";
import { testSeed as seed } from "../../testSeed.ts";
import { killableProgram } from "../everyCall/killableProgram.ts";

const kills = cases(2, 60);
const engines = sharedEngines.filter(({ name }) => name !== "in DynamoDB" && (wholeSoak || name !== "in Postgres"));
const start = killableProgram("keys/keysWorker.ts");
const agentIds = ["a", "inbox:a", "b"];

type Log = Pick<LogPersistenceStorageProvider, "log">;

async function fill({ log }: Log): Promise<void> {
  for (const agentId of agentIds) {
    const owned = await log.open(agentId, processOwner());
    const reference = await log.blobs.put(agentId, owned.generation, Buffer.from(`blob of ${agentId}`));
    await owned.append({ id: "x", records: [{ kind: "example", reference } as never] }, 0);
    await owned.release();
  }
}

/** Returns the blob of an agent, which its log names, or the code of the error. */
async function found({ log }: Log, agentId: string): Promise<string> {
  try {
    const [entry] = await collect(log.read(agentId));
    const { reference = "" } = (entry?.records[0] ?? {}) as { readonly reference?: string };
    return Buffer.from((await log.blobs.get(agentId, reference)) ?? []).toString();
  } catch (error) {
    return String((error as { readonly code?: unknown }).code ?? error);
  }
}

async function wrappedKeys({ log }: Log, ...ids: string[]): Promise<readonly string[]> {
  const keys = await Promise.all(ids.map((agentId) => collect(log.read(`data_key:${agentId}`))));
  return [...JSON.stringify(keys).matchAll(/"wrapped":"([A-Za-z0-9_-]+)"/g)].map(([, key = ""]) => key);
}

/** Returns all stored bytes, without the pages of SQLite that are not used any more. */
async function bytesAt(place: StoragePlace): Promise<string> {
  if (place.engine === "file") return (await bytesUnder(place.directory)).toString("latin1");
  if (place.engine === "postgres") return (await bytesInSchema(place.schema)).toString("latin1");
  if (place.engine !== "sqlite") throw new TypeError(`no bytes of ${place.engine}`);
  libsql(place.file).exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  return readFile(place.file, "latin1");
}

interface Deed {
  readonly name: "open" | "reencrypt" | "destroy";
  /** The agents whose keys change. */
  readonly of: readonly string[];
  /** The keys that the agents need afterwards. */
  readonly keys: readonly [string, ...string[]];
  readonly after: (agentId: string) => string;
}

const deeds: readonly Deed[] = [
  { name: "open", of: ["a", "b"], keys: ["second", "first"], after: (agentId) => `blob of ${agentId}` },
  { name: "reencrypt", of: agentIds, keys: ["second"], after: (agentId) => `blob of ${agentId}` },
  {
    name: "destroy",
    of: ["a", "inbox:a"],
    keys: ["second", "first"],
    after: (agentId) => (agentId === "b" ? "blob of b" : "key_missing"),
  },
];

describe.each(engines)("a process that changes keys, killed at any moment $name", ({ place: newPlace }) => {
  it.each(deeds)("loses no agent and leaves no earlier key once $name is repeated", async (deed) => {
    const made = async () => {
      const place = await newPlace();
      const stored = await storageAt(place);
      await fill(encrypted(stored, { keys: testKeys("first") }));
      const earlier = await wrappedKeys(stored, ...deed.of);
      await stored.log.close();
      expect(earlier).toHaveLength(deed.of.length);
      return { place, earlier };
    };
    const run = async (killBefore: number) => {
      const { place, earlier } = await made();
      const args = [JSON.stringify(place)];
      const first = await start(deed.name, killBefore, ...args);
      const told = { killBefore, deed: deed.name, place };
      if (first.killed) {
        const between = encrypted(await storageAt(place), { keys: testKeys("second", "first") });
        for (const agentId of agentIds)
          expect({ ...told, is: [deed.after(agentId), `blob of ${agentId}`] }).toEqual({
            ...told,
            is: expect.arrayContaining([await found(between, agentId)]),
          });
        await between.log.close();
        const second = await start(deed.name, 0, ...args);
        expect({ ...told, said: second.said }).toEqual({ ...told, said: deed.name });
        // An opening does not look for what an earlier one left.
        if (deed.name === "open") await start("reencrypt", 0, ...args);
      }
      const [current, ...older] = deed.keys;
      const storage = encrypted(await storageAt(place), { keys: testKeys(current, ...older) });
      for (const agentId of agentIds)
        expect({ ...told, is: await found(storage, agentId) }).toEqual({ ...told, is: deed.after(agentId) });
      await storage.log.close();
      const bytes = await bytesAt(place);
      const left = earlier.filter((key) => bytes.includes(key)).length;
      expect({ ...told, left }).toEqual({ ...told, left: 0 });
      return first;
    };
    const { calls, said } = await run(0);
    expect(said).toBe(deed.name);
    const stride = Math.max(1, Math.floor(calls / kills));
    let killed = 0;
    for (let at = 1 + (seed % stride); at <= calls; at += stride) if ((await run(at)).killed) killed++;
    console.log(`Killed ${killed} times in ${calls} calls of ${deed.name}.`);
    expect(killed).toBeGreaterThanOrEqual(1);
  });
});
