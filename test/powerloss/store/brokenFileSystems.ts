import { basename, dirname, join } from "node:path";
import type { FileSystem } from "agent-persistence/file";
import { agentFolderName, segmentGenerations } from "../../../src/storage/file/layout/AgentFolder.ts";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { changingFiles, delegating } from "../delegating.ts";
import { agentId } from "../Picture.ts";
import type { Wrap } from "./Stage.ts";

const checkpoints = join("/store/tasks", agentFolderName(agentId, nodeSha256), "checkpoints");
const holds = (bytes: Uint8Array, text: string) => Buffer.from(bytes).includes(text);

/** A process sees the segment that it linked, for ever, and none above it. */
export const blindToSuccessors: Wrap = (fileSystem) => {
  let own = Number.POSITIVE_INFINITY;
  return delegating(fileSystem, {
    link: async (existing, path) => {
      await fileSystem.link(existing, path);
      own = Number.parseInt(basename(path), 10);
    },
    readdir: async (path) => {
      const names = await fileSystem.readdir(path);
      if (basename(path) !== "checkpoints" || own === Number.POSITIVE_INFINITY) return names;
      return [...names.filter((name) => Number.parseInt(name, 10) < own), `${own}.jsonl`];
    },
  });
};

/** A segment gets its name first, and is synced once the name is durable. */
export const namedBeforeSynced: Wrap = (fileSystem) => {
  const later: (() => Promise<void>)[] = [];
  const firstLater = (sync: () => Promise<void>) => {
    let isFirst = true;
    return async () => {
      if (!isFirst) return sync();
      isFirst = false;
      later.push(sync);
    };
  };
  return delegating(
    changingFiles(fileSystem, (file) => ({
      fsync: async () => void later.push(() => file.fsync()),
      fdatasync: firstLater(() => file.fdatasync()),
    })),
    {
      fsyncDir: async (path) => {
        await fileSystem.fsyncDir(path);
        for (const sync of later.splice(0)) await sync();
      },
    },
  );
};

/** What was carried over is removed as soon as the first lines are written. */
export const removedBeforeSynced: Wrap = (fileSystem) =>
  changingFiles(fileSystem, (file, path) => ({
    write: async (bytes) => {
      const taken = await file.write(bytes);
      if (holds(bytes, '{"open":') && !holds(bytes, '{"claim":')) await removeBelow(fileSystem, path);
      return taken;
    },
  }));

async function removeBelow(fileSystem: FileSystem, temporary: string): Promise<void> {
  const before = Number.parseInt(temporary.slice(dirname(temporary).length + 1), 10);
  for (const generation of segmentGenerations(await fileSystem.readdir(checkpoints)))
    if (generation <= before) await fileSystem.unlink(join(checkpoints, `${generation}.jsonl`));
}

/** `state.json` is replaced without having said that it changes. */
export const neverChanging: Wrap = (fileSystem) =>
  delegating(fileSystem, {
    rename: async (from, to) => {
      const marks = to.endsWith("state.json") && holds(await fileSystem.readFile(from), '"changing":true');
      await (marks ? fileSystem.unlink(from) : fileSystem.rename(from, to));
    },
  });

/** Folders whose paths end so are not synced. */
export const foldersUnsyncedAt =
  (end: string): Wrap =>
  (fileSystem) =>
    delegating(fileSystem, { fsyncDir: async (path) => (path.endsWith(end) ? undefined : fileSystem.fsyncDir(path)) });
