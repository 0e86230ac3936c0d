import { SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { violationOf } from "../store/caught.ts";
import { Crashes } from "../Crashes.ts";
import { changingFiles, delegating } from "../delegating.ts";
import { agentThoroughness, thoroughness } from "../thoroughness.ts";
import { soak } from "../../soak/cases.ts";
import { ReceiveStage, type Wrap } from "./ReceiveStage.ts";

describe("an agent received from another storage, after every crash", () => {
  it("is stored whole or not at all, and can be received again and deleted", async () => {
    const stage = new ReceiveStage(new SimulatedFileSystem());
    const moments = await stage.play();
    const crashes = new Crashes(soak ? thoroughness : { ...agentThoroughness, stride: 11 });
    await stage.explore(moments, crashes);
    expect(crashes.distinct).toBeGreaterThan(20);
  });

  it.each<[string, Wrap]>([
    [
      "lines that have their name before they are on the device",
      (system) => changingFiles(system, (_file, path) => (path.includes("/tmp/") ? { fsync: async () => {} } : {})),
    ],
    [
      "blobs whose folder is not synced",
      (system) =>
        delegating(system, {
          fsyncDir: async (path) => (path.endsWith("blobs") ? undefined : system.fsyncDir(path)),
        }),
    ],
  ])("is checked by a test that detects %s", async (_name, wrap) => {
    const violation = await violationOf(async () => {
      const stage = new ReceiveStage(new SimulatedFileSystem(), wrap);
      await stage.explore(await stage.play(), new Crashes({ samples: 2, nestEvery: 0, nestedMoments: 0, seed: 1 }));
    });
    expect(violation).toBeDefined();
  });
});
