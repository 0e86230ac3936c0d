import Database from "libsql";
import type { PersistenceStorageProvider } from "agent-persistence";
import { encrypted, redaction } from "agent-persistence/encryption";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { sealed } from "agent-persistence/seals";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import { type LogPersistenceStorageProvider, processOwner } from "agent-persistence/storage";
import { generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { loopingAgent } from "../ours/loopingAgent.ts";
import { StepTimes } from "../measure/StepTimes.ts";
import { median } from "../measure/statistics.ts";
import type { Target } from "../targets.ts";
import { timeOf } from "../measure/timeOf.ts";

const steps = 300;
const rounds = 5;
const blobBytes = 5 * 1024 * 1024;
const blobs = 9;

const key = randomBytes(32);
const keys = { current: "bench", get: () => key };
const { privateKey, publicKey } = generateKeyPairSync("ed25519");

type Wrap = (storage: LogPersistenceStorageProvider) => PersistenceStorageProvider;

/** A redaction whose rules match no value, because each save costs its walk. */
const redacted: Wrap = (storage) =>
  redaction({ paths: ["pay.input.card.number", "answer.pin", "output.total"], vault: { keys } }).storage(storage);

const wrapped: readonly (readonly [name: string, wrap: Wrap, atMost: number])[] = [
  ["redacted", redacted, 1.5],
  ["encrypted", (storage) => encrypted(storage, { keys }), 1.25],
  [
    "sealed",
    (storage) =>
      sealed(storage, {
        sign: (bytes) => sign(null, bytes, privateKey),
        verify: (bytes, signature) => verify(null, bytes, publicKey, signature),
      }),
    1.1,
  ],
];

const engines: Readonly<Record<string, (directory: string) => LogPersistenceStorageProvider>> = {
  files: (directory) => new FilePersistenceStorageProvider({ directory }),
  SQLite: (directory) => new SqlitePersistenceStorageProvider({ database: new Database(join(directory, "agents.db")) }),
};

/** The cost of saves whose values are redacted, encrypted or sealed, beside plain ones in the same process. */
export async function secretSaves(directory: string): Promise<Target[]> {
  const targets: Target[] = [];
  for (const [engine, open] of Object.entries(engines)) {
    const storage = (name: string) => {
      const path = join(directory, engine, name);
      mkdirSync(path, { recursive: true });
      return open(path);
    };
    const saves = new Map<string, number[]>();
    const all = [["plain", (given: LogPersistenceStorageProvider) => given] as const, ...wrapped];
    // The first round compiles the code.
    for (let round = 0; round <= rounds; round++)
      for (const [name, wrap] of all) {
        const ms = await medianSave(wrap(storage(`${name}-${round}`)));
        if (round > 0) saves.set(name, [...(saves.get(name) ?? []), ms]);
      }
    const ofPlain = median(saves.get("plain") ?? []);
    for (const [name, , atMost] of wrapped)
      targets.push({
        name: `${engine}: median save, ${name} ÷ plain (${ofPlain.toFixed(2)} ms)`,
        found: median(saves.get(name) ?? []) / ofPlain,
        atMost,
        unit: "×",
      });
    targets.push(await blobTarget(engine, storage("plain-blobs"), storage("encrypted-blobs")));
  }
  return targets;
}

async function medianSave(storage: PersistenceStorageProvider): Promise<number> {
  const times = new StepTimes();
  const agent = loopingAgent(storage, { steps, finishes: true, times });
  times.leave();
  await agent.run(1, { agentId: "bench" });
  return median(times.saves.slice(1));
}

async function blobTarget(
  engine: string,
  plain: LogPersistenceStorageProvider,
  below: LogPersistenceStorageProvider,
): Promise<Target> {
  const logs = [plain.log, encrypted(below, { keys }).log];
  for (const log of logs) await log.open("bench", processOwner());
  const times: number[][] = [[], []];
  for (let at = 0; at <= blobs; at++)
    for (const [which, { blobs: store }] of logs.entries()) {
      const bytes = randomBytes(blobBytes);
      const ms = await timeOf(() => store.put("bench", 1, bytes));
      if (at > 0) times[which]?.push(ms);
    }
  const [ofPlain = Number.NaN, ofEncrypted = Number.NaN] = times.map((each) => median(each));
  return {
    name: `${engine}: value of 5 MB, encrypted ÷ plain (${ofPlain.toFixed(0)} ms)`,
    found: ofEncrypted / ofPlain,
    atMost: 1.5,
    unit: "×",
  };
}
