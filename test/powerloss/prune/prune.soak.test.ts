import {
  LogPersistenceStorageProvider,
  type LogAppend,
  type OwnedLog,
  type RecordLog,
} from "agent-persistence/storage";
import { SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { violationOf } from "../store/caught.ts";
import { Crashes } from "../Crashes.ts";
import { agentId } from "../Picture.ts";
import { PruneStage, type StorageChange } from "./PruneStage.ts";
import { agentThoroughness, thoroughness } from "../thoroughness.ts";
import { soak } from "../../soak/cases.ts";

const blobsOf = ({ records }: LogAppend): readonly string[] =>
  records.flatMap((record) =>
    record.kind === "pruned" ? ((record as { blobs?: readonly string[] }).blobs ?? []) : [],
  );

/** A storage that does something else with the append that prunes. */
function pruningBy(
  append: (entry: LogAppend, position: number, owned: OwnedLog, log: RecordLog) => Promise<number>,
): StorageChange {
  return ({ log }) =>
    new LogPersistenceStorageProvider(
      delegatingLog(log, {}, (owned) => ({
        append: (entry, position) =>
          blobsOf(entry).length === 0 ? owned.append(entry, position) : append(entry, position, owned, log),
      })),
      { inlineThresholdBytes: 200, compressThresholdBytes: 400 },
    );
}

describe("a pruning of an agent, after every crash", () => {
  it("is done completely or not at all, and the agent can be pruned and rolled back", async () => {
    const stage = new PruneStage(new SimulatedFileSystem());
    const from = await stage.play();
    const crashes = new Crashes(soak ? thoroughness : agentThoroughness);
    await stage.explore(from, crashes);
    expect(crashes.distinct).toBeGreaterThan(10);
  });

  const mistakes: readonly (readonly [string, StorageChange])[] = [
    [
      "blobs that go before the record is durable",
      pruningBy(async (entry, position, owned, log) => {
        for (const blob of blobsOf(entry)) await log.blobs.delete(agentId, blob);
        return owned.append(entry, position);
      }),
    ],
    ["a record that is acknowledged and not made", pruningBy(async (_entry, position) => position + 1)],
    [
      "a record without restated state",
      pruningBy((entry, position, owned) =>
        owned.append({ ...entry, records: entry.records.map((record) => ({ ...record, restated: [] })) }, position),
      ),
    ],
  ];

  it.each(soak ? mistakes : [])("is checked by a test that detects %s", async (_name, change) => {
    const violation = await violationOf(async () => {
      const kept = new PruneStage(new SimulatedFileSystem());
      await kept.play();
      const stage = new PruneStage(new SimulatedFileSystem(), change);
      const from = await stage.play();
      const crashes = new Crashes({ samples: 1, nestEvery: 0, nestedMoments: 0, seed: 1 });
      await stage.explore(from, crashes, await kept.pictures());
    });
    expect(["acknowledged", "usable", "idempotent"]).toContain(violation?.check);
  });
});
