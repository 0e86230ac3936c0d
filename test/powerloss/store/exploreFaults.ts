import { SimulatedFileSystem, type FaultKind } from "agent-persistence/testing";
import type { Crashes } from "../Crashes.ts";
import { exploreStore } from "./exploreStore.ts";
import { playWithFault } from "./playWithFault.ts";
import { Stage, type Variant } from "./Stage.ts";
import { Violation } from "../Violation.ts";

const syncs: readonly string[] = ["fdatasync", "fsync"];

/** Lets one call after another fail, and then cuts the power at some moments since. */
export async function exploreFaults(
  variant: Variant,
  crashes: Crashes,
  {
    kind,
    fromThenOn = false,
    stride = 1,
  }: { readonly kind: FaultKind; readonly fromThenOn?: boolean; readonly stride?: number },
): Promise<void> {
  for (const call of await callsStruckBy(variant, kind)) {
    if (call % stride !== 0) continue;
    const stage = new Stage(new SimulatedFileSystem(), variant);
    try {
      await playWithFault(stage, { kind, call, fromThenOn });
      await exploreStore(stage, crashes, { nested: false, sampled: true });
    } catch (error) {
      throw error instanceof Violation ? error.within(`${kind} at call ${call}`) : error;
    }
  }
}

async function callsStruckBy(variant: Variant, kind: FaultKind): Promise<number[]> {
  const stage = new Stage(new SimulatedFileSystem(), variant);
  await playWithFault(stage, undefined);
  return stage.fileSystem.calls.flatMap(({ operation }, index) => {
    const strikes =
      kind === "lying sync" ? syncs.includes(operation) : kind === "short write" ? operation === "write" : true;
    return strikes ? index + 1 : [];
  });
}
