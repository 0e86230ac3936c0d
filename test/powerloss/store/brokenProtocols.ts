import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import {
  blindToSuccessors,
  foldersUnsyncedAt,
  namedBeforeSynced,
  neverChanging,
  removedBeforeSynced,
} from "./brokenFileSystems.ts";
import { changingFiles, delegating } from "../delegating.ts";
import type { Variant } from "./Stage.ts";
import type { CheckName } from "../Violation.ts";

/** A protocol that is broken on purpose, and what must notice it. */
export interface BrokenProtocol {
  readonly name: string;
  readonly variant: Variant;
  /** Any of them: names of temporary files are random, and so is which crash comes first. */
  readonly caughtBy: readonly CheckName[];
  /** What it needs to be noticed; default: whatever comes first. */
  readonly scenario?: string;
}

const lost: readonly CheckName[] = ["acknowledged", "usable"];
const done = async (): Promise<void> => {};
const noChecksums = { hex: (data: string | Uint8Array) => nodeSha256.hex(data), base64url: () => "A".repeat(43) };

/** Found by crashes. */
export const brokenByCrashes: readonly BrokenProtocol[] = [
  {
    name: "no sync of data",
    variant: { wrap: (fileSystem) => changingFiles(fileSystem, () => ({ fdatasync: done })) },
    caughtBy: lost,
  },
  {
    name: "no sync of new files",
    variant: { wrap: (fileSystem) => changingFiles(fileSystem, () => ({ fsync: done })) },
    caughtBy: lost,
  },
  { name: "no sync of folders", variant: { wrap: foldersUnsyncedAt("") }, caughtBy: lost },
  { name: "no sync of the folder of blobs", variant: { wrap: foldersUnsyncedAt("/blobs") }, caughtBy: lost },
  {
    name: "no sync of the folder of segments",
    variant: { wrap: foldersUnsyncedAt("/checkpoints") },
    caughtBy: lost,
  },
  { name: "a segment named before it is synced", variant: { wrap: namedBeforeSynced }, caughtBy: lost },
  {
    name: "segments removed before their lines are synced",
    variant: { wrap: removedBeforeSynced },
    caughtBy: lost,
  },
  {
    name: "a status replaced without a mark",
    variant: { wrap: neverChanging },
    caughtBy: lost,
    scenario: "changes of status",
  },
  {
    name: "checksums that say nothing",
    variant: { sha256: noChecksums },
    caughtBy: lost,
    scenario: "owners that die one after another",
  },
];

/** Found by owners that sleep. */
export const brokenByTwoOwners: readonly BrokenProtocol[] = [
  { name: "no check after the sync", variant: { wrap: blindToSuccessors }, caughtBy: ["owned by one"] },
  {
    name: "compaction by rename instead of link",
    variant: {
      // The owner continues before its successor removes temporary files.
      wrap: (fileSystem) =>
        delegating(fileSystem, {
          link: (existing, path) => fileSystem.rename(existing, path),
          unlink: async (path) => (path.includes("/tmp/") ? undefined : fileSystem.unlink(path)),
        }),
    },
    caughtBy: ["owned by one"],
    scenario: "an owner that slept in its compaction",
  },
];

/** Found by calls that fail. */
export const brokenByFaults: readonly BrokenProtocol[] = [
  {
    name: "a second sync after a failed one",
    variant: {
      wrap: (fileSystem) =>
        changingFiles(fileSystem, (file) => ({ fdatasync: () => file.fdatasync().catch(() => file.fdatasync()) })),
    },
    caughtBy: lost,
  },
  {
    name: "a write taken for whole",
    variant: {
      wrap: (fileSystem) =>
        changingFiles(fileSystem, (file) => ({ write: (bytes) => file.write(bytes).then(() => bytes.length) })),
    },
    caughtBy: lost,
  },
  {
    name: "a failed write that is written again",
    variant: {
      wrap: (fileSystem) =>
        changingFiles(fileSystem, (file) => ({ write: (bytes) => file.write(bytes).catch(() => file.write(bytes)) })),
    },
    caughtBy: lost,
  },
];
