import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { Crashes } from "../Crashes.ts";
import { violationOf } from "../store/caught.ts";
import { agentThoroughness, thoroughness } from "../thoroughness.ts";
import { soak } from "../../soak/cases.ts";
import { EditStage, type StorageChange } from "./EditStage.ts";

/** Leaves what an edit changes in the storage out of its append. */
const shortened: StorageChange = ({ log }) =>
  new LogPersistenceStorageProvider(
    delegatingLog(log, {}, (owned) => ({
      append: async (entry, position) => {
        if (!entry.records.some((record) => (record as { readonly move?: string }).move === "edit"))
          return owned.append(entry, position);
        const at = entry.records.findIndex(({ kind }) => kind === "storage");
        const without = entry.records.filter((_record, index) => index !== at);
        return owned.append({ ...entry, records: without }, position);
      },
    })),
    { inlineThresholdBytes: 200 },
  );

describe("a name and an edit, after every crash", () => {
  it("are stored whole or not at all, and can be made again", async () => {
    const stage = new EditStage(new SimulatedFileSystem());
    const moments = await stage.play();
    const crashes = new Crashes(soak ? thoroughness : { ...agentThoroughness, stride: 20 });
    await stage.explore(moments, crashes);
    expect(crashes.distinct).toBeGreaterThan(10);
  });

  it("are checked by a test that detects an edit without its storage", async () => {
    const violation = await violationOf(async () => {
      const stage = new EditStage(new SimulatedFileSystem(), shortened);
      await stage.explore(await stage.play(), new Crashes({ samples: 1, nestEvery: 0, nestedMoments: 0, seed: 1 }));
    });
    expect(violation).toBeDefined();
  });
});
