import { isSameValue } from "../../checkpoint/values/isSameValue.ts";
import type { BranchResult } from "../feature/BranchResult.ts";

type Change = { readonly value: unknown } | undefined;

/** What branches changed in the storage, together. */
export interface StorageChanges {
  /** The keys that one branch changed, or several alike. */
  readonly agreed: ReadonlyMap<string, Change>;
  /** The branches by the keys that they changed differently. */
  readonly conflicts: ReadonlyMap<string, readonly string[]>;
}

/** @param fork the storage that all of them began with. */
export function storageChanges(
  branches: ReadonlyMap<string, Pick<BranchResult, "storage">>,
  fork: ReadonlyMap<string, unknown>,
): StorageChanges {
  const changes = new Map<string, { readonly change: Change; readonly branches: string[]; differs: boolean }>();
  for (const [branch, { storage }] of branches) {
    for (const [key, change] of storage) {
      if (isSameChange(change, fork.has(key) ? { value: fork.get(key) } : undefined)) continue;
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
