import { StorageError } from "../../../errors/storageErrors.ts";
import type { Clock } from "../../../internal/Clock.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { Disk } from "../../../nodejs/Disk.ts";
import type { ProcessIdentity } from "../../../nodejs/ProcessIdentity.ts";
import type { AgentSummary } from "../../RecordLog.ts";
import { assertNoLinks } from "../layout/AgentFolder.ts";
import {
  droppedFolder,
  dueFolder,
  dueMark,
  statusFolder,
  statusMark,
  type FoundMark,
  isUnavailable,
  MarkFolder,
} from "./MarkFolder.ts";
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";

interface Surroundings {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly sha256: Sha256;
  readonly identity: ProcessIdentity;
  readonly tasks: string;
}

/** A summary with the generation of the owner that appended it. 0 if it was rebuilt from stored data. */
export interface Marked {
  readonly summary: AgentSummary;
  readonly generation: number;
}

const retryAfterMs = 60_000;
const completeName = /^\+complete-[\d.]*-[\d.]*$/;
const building = "+building-";

/**
 * Records the status of each agent as the name of an empty file. A list reads these names and then only the files of
 * the matching agents. The index is derived from the logs and may be lost or outdated, so its content is always
 * verified.
 */
export class StatusIndex {
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #tasks: string;
  readonly #user: number | undefined;
  readonly #root: string;
  readonly #path: string;
  readonly #synced: boolean;
  readonly #folders = new Map<string, MarkFolder>();
  #building: Promise<void> | undefined;
  #failedAtMs = -Infinity;

  constructor({ disk, clock, sha256, identity, tasks }: Surroundings) {
    // Without process namespaces, the boot id is a guess that may differ between processes.
    const hasBootId = identity.pidNamespace !== "";
    this.#disk = disk;
    this.#clock = clock;
    this.#tasks = tasks;
    this.#user = identity.user;
    this.#root = join(dirname(tasks), "index");
    this.#path = join(this.#root, hasBootId ? sha256.hex(identity.bootId).slice(0, 16) : "synced");
    this.#synced = !hasBootId;
  }

  /**
   * Marks the next status of an agent, after `state.json` records the change and before the append. A process that
   * builds the index meanwhile created its directory before this check, or reads the updated `state.json`. `before` are
   * the existing marks, if known.
   *
   * @returns whether an index exists
   */
  async mark(folder: string, { summary, generation }: Marked, before?: AgentSummary): Promise<boolean> {
    return this.#add(async () => {
      const due = dueMark(folder, summary, generation);
      if (!before || !isSameMark(before, summary))
        await this.#folder(statusFolder(summary.status)).add(statusMark(folder, summary, generation));
      if (due && before?.dueAt !== summary.dueAt) await this.#folder(dueFolder).add(due);
    });
  }

  async unmark(folder: string, marked: Marked, now?: AgentSummary): Promise<void> {
    // Lists ignore an outdated mark.
    await this.#unmark(folder, marked, now).catch(unlessForbidden);
  }

  async #unmark(folder: string, { summary, generation }: Marked, now?: AgentSummary): Promise<void> {
    for (const each of new Set([generation, 0])) {
      const due = dueMark(folder, summary, each);
      if (!now || !isSameMark(summary, now))
        await this.#folder(statusFolder(summary.status)).remove(statusMark(folder, summary, each));
      if (due && summary.dueAt !== now?.dueAt) await this.#folder(dueFolder).remove(due);
    }
  }

  async markDropped(folder: string): Promise<void> {
    await this.#add(async () => {
      const path = join(this.#path, droppedFolder);
      await this.#disk.mkdir(path);
      await (await this.#disk.create(join(path, folder)))?.close();
    });
  }

  /** Returns the directories of deleted agents. An agent that was created again also has marks. */
  async dropped(): Promise<ReadonlySet<string>> {
    return new Set(await this.#disk.readdir(join(this.#path, droppedFolder)));
  }

  async statusFolders(): Promise<readonly string[]> {
    return ((await this.#disk.readdir(this.#path)) ?? []).filter((name) => !name.startsWith("+"));
  }

  marks(folder: string, upTo?: string): AsyncGenerator<FoundMark> {
    return this.#folder(folder).read(upTo);
  }

  async forget({ path }: FoundMark): Promise<void> {
    await this.#disk.unlink(path);
  }

  /** Whether lists may use the index. Builds a missing index first. @param build - marks every stored agent. */
  async ready(build: () => Promise<void>): Promise<boolean> {
    if (await this.isComplete()) return true;
    if (this.#clock.monotonic() - this.#failedAtMs < retryAfterMs || !(await this.#isOwnStorage())) return false;
    try {
      this.#building ??= this.#build(build).finally(() => (this.#building = undefined));
      await this.#building;
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
    }
    // Some file systems change the ids of files. An index on them is never complete.
    const isComplete = await this.isComplete();
    if (!isComplete) this.#failedAtMs = this.#clock.monotonic();
    return isComplete;
  }

  async isComplete(): Promise<boolean> {
    if ((await this.#found()) !== "own" || !(await this.#isOwnStorage())) return false;
    const names = (await this.#disk.readdir(this.#path)) ?? [];
    for (const name of names) if (await this.#isComplete(name)) return true;
    return false;
  }

  async #isComplete(name: string): Promise<boolean> {
    return completeName.test(name) && name === (await this.#completeName(join(this.#path, name)));
  }

  async #build(build: () => Promise<void>): Promise<void> {
    for (const path of [this.#root, this.#path]) {
      await this.#disk.mkdir(path);
      await assertNoLinks(this.#disk, [path]);
      if (this.#synced) await this.#disk.fsyncDir(dirname(path));
    }
    const begun = join(this.#path, building + randomUUID());
    await (await this.#disk.create(begun))?.close();
    await build();
    // Fails if the directory was removed concurrently.
    await this.#disk.rename(begun, join(this.#path, await this.#completeName(begun)));
    if (this.#synced) await this.#disk.fsyncDir(this.#path);
    await this.#removeOthers().catch(() => {});
  }

  /** Returns the name of the index, derived from file ids, so that a copied, perhaps outdated index is not used. */
  async #completeName(path: string): Promise<string> {
    const [folder, file] = await Promise.all([this.#disk.stat(this.#path), this.#disk.stat(path)]);
    return `+complete-${folder?.id ?? ""}-${file?.id ?? ""}`;
  }

  /** Adds marks to an existing index. If this process may not write the index, marks it as invalid. */
  async #add(add: () => Promise<void>): Promise<boolean> {
    const found = await this.#found();
    if (found === "none") return false;
    try {
      if (found === "another user's") await this.#revoke().catch(unlessForbidden);
      else await add();
    } catch (error) {
      // The index was removed concurrently. The next build reads this agent.
      if (isUnavailable(error) && (await this.#found()) === "none") return false;
      if (!isForbidden(error)) throw error;
      await this.#revoke();
    }
    return true;
  }

  /** Invalidates the index. Lists read all agents, and the next list rebuilds the index. */
  async #revoke(): Promise<void> {
    for (const name of (await this.#disk.readdir(this.#path)) ?? [])
      if (isNameOfBuild(name)) await this.#disk.unlink(join(this.#path, name));
  }

  async #found(): Promise<"none" | "own" | "another user's"> {
    try {
      // A link in place of a directory would leave the storage directory.
      if ((await this.#disk.stat(this.#root))?.folder !== true) return "none";
      const found = await this.#disk.stat(this.#path);
      if (found?.folder !== true) return "none";
      return this.#isOwn(found) ? "own" : "another user's";
    } catch (error) {
      unlessForbidden(error);
      return "another user's";
    }
  }

  /** Only the user who owns the storage creates an index, because other users cannot change it. */
  async #isOwnStorage(): Promise<boolean> {
    return this.#isOwn((await this.#disk.stat(this.#tasks)) ?? {});
  }

  #isOwn({ owner }: { readonly owner?: number }): boolean {
    return this.#user === undefined || owner === undefined || owner === this.#user;
  }

  /** Removes indexes of earlier boots, incomplete builds, and names of copied indexes. */
  async #removeOthers(): Promise<void> {
    const names = (await this.#disk.readdir(this.#root)) ?? [];
    for (const path of names.map((name) => join(this.#root, name)).filter((path) => path !== this.#path))
      await this.#removeTree(path);
    for (const name of (await this.#disk.readdir(this.#path)) ?? [])
      if (isNameOfBuild(name) && !(await this.#isComplete(name))) await this.#disk.unlink(join(this.#path, name));
  }

  async #removeTree(path: string): Promise<void> {
    if ((await this.#disk.stat(path))?.folder !== true) return this.#disk.unlink(path);
    for (const name of (await this.#disk.readdir(path)) ?? []) await this.#removeTree(join(path, name));
    await this.#disk.rmdir(path);
  }

  #folder(name: string): MarkFolder {
    const known = this.#folders.get(name) ?? new MarkFolder(this.#disk, join(this.#path, name), this.#synced);
    this.#folders.set(name, known);
    return known;
  }
}

function isNameOfBuild(name: string): boolean {
  return completeName.test(name) || name.startsWith(building);
}

function isForbidden(error: unknown): boolean {
  return error instanceof StorageError && error.reason === "permission";
}

function unlessForbidden(error: unknown): void {
  if (!isForbidden(error)) throw error;
}

function isSameMark(one: AgentSummary, other: AgentSummary): boolean {
  return one.status === other.status && one.order === other.order;
}
