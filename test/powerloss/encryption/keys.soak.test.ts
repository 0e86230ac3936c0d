import { FilePersistenceStorageProvider } from "agent-persistence/file";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { AgentBusyError } from "agent-persistence";
import { SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { destroyKey, encrypted, reencrypt } from "../../../src/encryption.ts";
import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { processOwner } from "../../../src/storage/ReleasableLog.ts";
import { testKeys } from "../../encryption/encryptedHarness.ts";
import type { HastyClock } from "../../storage/file/support/TestClock.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { Crashes } from "../Crashes.ts";
import { Machine } from "../Machine.ts";
import { agentThoroughness, thoroughness } from "../thoroughness.ts";
import { Violation } from "../Violation.ts";

type Storage = LogPersistenceStorageProvider;

const leaseMs = 15_000;
const texts = ["one", "two"];
const old = testKeys("first");
const rotated = testKeys("second", "first");

/** What is done with the keys, and what an agent reads before it, after it, and with which keys. */
interface Deed {
  readonly act: (storage: Storage) => Promise<unknown>;
  readonly after: unknown;
  /** Whether the earlier key is not needed afterwards. */
  readonly needsOneKey?: true;
}

const deeds: Readonly<Record<string, Deed>> = {
  "the next opening after a rotation": {
    act: async ({ log }) => (await log.open("a", processOwner())).release(),
    after: texts,
    needsOneKey: true,
  },
  "a reencryption": { act: (storage) => collect(reencrypt(storage)), after: texts, needsOneKey: true },
  "the destruction of a key": { act: (storage) => destroyKey(storage, "a"), after: "key_missing" },
};

/** Fills an agent and its inbox, which have separate keys. */
async function fill(storage: Storage): Promise<void> {
  await fillLog(storage, "inbox:a");
  await fillLog(storage, "a");
}

async function fillLog({ log }: Storage, agentId: string): Promise<void> {
  const owned = await log.open(agentId, processOwner());
  for (const value of texts) {
    const reference = await log.blobs.put(agentId, owned.generation, new TextEncoder().encode(value));
    await owned.append({ id: `x-${value}`, records: [{ kind: "example", value, reference } as never] }, owned.position);
  }
  await owned.release();
}

async function read({ log }: Storage): Promise<unknown> {
  try {
    const records = (await collect(log.read("a"))).flatMap((entry) => entry.records) as unknown as readonly Record<
      string,
      string
    >[];
    const blobs = await Promise.all(records.map(({ reference = "" }) => log.blobs.get("a", reference)));
    const values = records.map(({ value }) => value);
    const same = blobs.map((bytes) => new TextDecoder().decode(bytes)).join() === values.join();
    return same ? values : "blobs are missing";
  } catch (error) {
    return (error as { readonly code?: unknown }).code;
  }
}

/** A process that was killed may own a log until its lease is over, so the time passes meanwhile. */
async function onceFree(clock: HastyClock, action: () => Promise<unknown>): Promise<void> {
  const passing = setInterval(() => clock.advance(leaseMs), 5);
  try {
    for (let isDone = false; !isDone; await nextTurn())
      isDone = await action().then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof AgentBusyError)) throw error;
          return false;
        },
      );
  } finally {
    clearInterval(passing);
  }
}

const isOneOf = (found: unknown, ...expected: readonly unknown[]): boolean =>
  expected.some((one) => JSON.stringify(one) === JSON.stringify(found));

describe("the keys of an encrypted storage, after every crash", () => {
  it.each(Object.entries(deeds))("are intact after %s", async (_name, { act, after, needsOneKey }) => {
    const fileSystem = new SimulatedFileSystem();
    const machine = new Machine();
    const start = (on: SimulatedFileSystem, keys = rotated, by = machine) => {
      const { options, clock } = by.start(on);
      return { storage: encrypted(new FilePersistenceStorageProvider(options), { keys }), clock };
    };
    const open = (...given: Parameters<typeof start>) => start(...given).storage;
    await fill(open(fileSystem, old));
    const begun = fileSystem.position;
    await act(open(fileSystem));
    const done = fileSystem.position;
    const crashes = new Crashes(agentThoroughness);
    for (const state of crashes.statesOf(fileSystem, begun, false)) {
      const isDone = state.after >= done;
      const restarted = crashes.restart(state, String(isDone));
      if (restarted === undefined) continue;
      const next = state.model === "kill" ? machine : new Machine();
      next.endAll();
      await crashes.check(state, async () => {
        const found = await read(open(restarted, rotated, next));
        if (!isOneOf(found, after, ...(isDone ? [] : [texts])))
          throw new Violation("acknowledged", `the agent reads ${JSON.stringify(found)}`);
        const { storage, clock } = start(restarted, rotated, next);
        await onceFree(clock, () => act(storage));
        const keys = needsOneKey ? testKeys("second") : rotated;
        const again = await read(open(restarted, keys, next));
        if (!isOneOf(again, after)) throw new Violation("idempotent", `the agent reads ${JSON.stringify(again)}`);
      });
    }
    expect(crashes.distinct).toBeGreaterThan(10);
  });

  it("exist before the first append that needs them", async () => {
    const fileSystem = new SimulatedFileSystem();
    const machine = new Machine();
    const start = (on: SimulatedFileSystem, by = machine) => {
      const { options, clock } = by.start(on);
      return { storage: encrypted(new FilePersistenceStorageProvider(options), { keys: old }), clock };
    };
    const open = (...given: Parameters<typeof start>) => start(...given).storage;
    await fill(open(fileSystem));
    const crashes = new Crashes({ ...agentThoroughness, stride: thoroughness.stride ?? 1 });
    for (const state of crashes.statesOf(fileSystem, 0, false)) {
      const restarted = crashes.restart(state, "");
      if (restarted === undefined) continue;
      const next = state.model === "kill" ? machine : new Machine();
      next.endAll();
      await crashes.check(state, async () => {
        const found = await read(open(restarted, next));
        if (!isOneOf(found, [], ["one"], texts))
          throw new Violation("acknowledged", `the agent reads ${String(found)}`);
        if (!isOneOf(found, [])) return;
        const { storage, clock } = start(restarted, next);
        await onceFree(clock, () => fill(storage));
        const filled = await read(open(restarted, next));
        if (!isOneOf(filled, texts)) throw new Violation("usable", `the agent reads ${String(filled)}`);
      });
    }
    expect(crashes.distinct).toBeGreaterThan(10);
  });
});
