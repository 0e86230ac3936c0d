import { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { SimulatedFileSystem } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { delegatingLog } from "../../testing/delegatingLog.ts";
import { Crashes } from "../Crashes.ts";
import { violationOf } from "../store/caught.ts";
import { agentThoroughness, thoroughness } from "../thoroughness.ts";
import { soak } from "../../soak/cases.ts";
import { type Forked, ForkStage } from "./ForkStage.ts";

/** Copies no values. */
const withoutBlobs: Forked["change"] = ({ log }) =>
  new LogPersistenceStorageProvider(
    delegatingLog(log, {
      blobs: {
        put: (...given) => log.blobs.put(...given),
        get: (...given) => log.blobs.get(...given),
        delete: (...given) => log.blobs.delete(...given),
        copy: async () => true,
      },
    }),
    { inlineThresholdBytes: 300 },
  );

describe("a fork, after every crash", () => {
  it.each<[string, Forked]>([
    ["of the head", {}],
    ["from a checkpoint", { checkpointId: "1-1" }],
    ["of a pruned log", { isPruned: true }],
  ])("%s is stored whole or not at all, and can be made, finished and removed", async (_name, forked) => {
    const stage = new ForkStage(new SimulatedFileSystem(), forked);
    const moments = await stage.play();
    const crashes = new Crashes(soak ? thoroughness : { ...agentThoroughness, stride: 50 });
    await stage.explore(moments, crashes);
    expect(crashes.distinct).toBeGreaterThan(5);
  });

  it("is checked by a test that detects a fork without its values", async () => {
    const violation = await violationOf(async () => {
      const stage = new ForkStage(new SimulatedFileSystem(), { change: withoutBlobs });
      await stage.explore(await stage.play(), new Crashes({ ...agentThoroughness, stride: 9 }));
    });
    expect(violation).toBeDefined();
  });
});
