import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import type { BranchResult } from "../feature/BranchResult.ts";

type Change = { readonly value: unknown } | undefined;

export interface StorageChanges {
  /** Keys that one branch changed, or that several branches changed to the same value. */
  readonly agreed: ReadonlyMap<string, Change>;
  readonly conflicts: ReadonlyMap<string, readonly string[]>;
}

export function storageChanges(
  branches: ReadonlyMap<string, Pick<BranchResult, "storage">>,
  atStart: ReadonlyMap<string, unknown>,
): StorageChanges {
  const changes = new Map<string, { readonly change: Change; readonly branches: string[]; differs: boolean }>();
  for (const [branch, { storage }] of branches) {
    for (const [key, change] of storage) {
      if (isSameChange(change, atStart.has(key) ? { value: atStart.get(key) } : undefined)) continue;
      const known = changes.get(key);
      if (!known) {
        changes.set(key, { change, branches: [branch], differs: false });
        continue;
      }
      known.branches.push(branch);
      known.differs ||= !isSameChange(known.change, change);
    }
  }
  const all = [...changes];
  return {
    agreed: new Map(all.flatMap(([key, { change, differs }]) => (differs ? [] : [[key, change] as const]))),
    conflicts: new Map(all.flatMap(([key, found]) => (found.differs ? [[key, found.branches] as const] : []))),
  };
}

function isSameChange(a: Change, b: Change): boolean {
  if (a === undefined || b === undefined) return a === b;
  return Object.is(a.value, b.value) || isSameValue(a.value, b.value);
}
