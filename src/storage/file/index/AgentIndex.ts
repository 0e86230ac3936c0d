import { StorageError } from "../../../errors/storage/StorageError.ts";
import type { Clock } from "../../../internal/Clock.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { Disk } from "../../../node/Disk.ts";
import type { ProcessIdentity } from "../../../node/ProcessIdentity.ts";
import type { AgentSummary } from "../../RecordLog.ts";
import { droppedFolder, dueFolder, dueMark, statusFolder, statusMark } from "./Mark.ts";
import { type FoundMark, isMissing, MarkFolder } from "./MarkFolder.ts";
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";

interface Surroundings {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly sha256: Sha256;
  readonly identity: ProcessIdentity;
  /** The folder that holds the folders of all agents. */
  readonly tasks: string;
}

/** A summary, and the generation of the owner that appended it; 0: it was made from what was stored. */
export interface Marked {
  readonly summary: AgentSummary;
  readonly generation: number;
}

/** Milliseconds after which an index that could not be built is tried again. */
const retryAfterMs = 60_000;
const completeName = /^\+complete-[\d.]*-[\d.]*$/;
const building = "+building-";

/**
 * Which agents are in which status, as names of empty files: a list reads these names, and then the files of those agents
 * alone. It is derived from the logs and may be lost or be out of date, so nothing is believed that it says.
 */
export class AgentIndex {
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
    // Where there are no namespaces of processes, the id of the boot is a guess, which two processes may make differently.
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
   * Marks what an agent is about to be: after `state.json` says that it changes, and before the append that changes it.
   * Then whoever builds an index either made its folder before this looks, or reads `state.json` after it was written.
   *
   * @param before what is marked of it already; `undefined`: nothing that is known.
   */
  async mark(folder: string, { summary, generation }: Marked, before?: AgentSummary): Promise<void> {
    await this.#add(async () => {
      const due = dueMark(folder, summary, generation);
      if (!before || !isSameMark(before, summary))
        await this.#folder(statusFolder(summary.status)).add(statusMark(folder, summary, generation));
      if (due && before?.dueAt !== summary.dueAt) await this.#folder(dueFolder).add(due);
    });
  }

  /** Removes what was marked before, where the agent is marked otherwise now. */
  async unmark(folder: string, marked: Marked, now?: AgentSummary): Promise<void> {
    // A mark too many is one that lists pass over.
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

  /** Says that nothing is left of an agent to be listed. */
  async markDropped(folder: string): Promise<void> {
    await this.#add(async () => {
      const path = join(this.#path, droppedFolder);
      await this.#disk.mkdir(path);
      await (await this.#disk.create(join(path, folder)))?.close();
    });
  }

  /** The folders of agents that were deleted; an agent that has come again since has marks, too. */
  async dropped(): Promise<ReadonlySet<string>> {
    return new Set(await this.#disk.readdir(join(this.#path, droppedFolder)));
  }

  /** The folders of all statuses. */
  async statusFolders(): Promise<readonly string[]> {
    return ((await this.#disk.readdir(this.#path)) ?? []).filter((name) => !name.startsWith("+"));
  }

  /** The marks in a folder by their keys, up to one. */
  marks(folder: string, upTo?: string): AsyncGenerator<FoundMark> {
    return this.#folder(folder).read(upTo);
  }

  /** Removes a mark that nobody can mean any more. */
  async forget({ path }: FoundMark): Promise<void> {
    await this.#disk.unlink(path);
  }

  /**
   * Whether lists may go by the index, once it was built if there was none.
   *
   * @param build marks every agent that is stored.
   */
  async ready(build: () => Promise<void>): Promise<boolean> {
    if (await this.isComplete()) return true;
    if (this.#clock.monotonic() - this.#failedAtMs < retryAfterMs || !(await this.#isOwnStorage())) return false;
    try {
      this.#building ??= this.#build(build).finally(() => (this.#building = undefined));
      await this.#building;
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      this.#failedAtMs = this.#clock.monotonic();
    }
    return this.isComplete();
  }

  /** Whether lists may go by the index as it is. */
  async isComplete(): Promise<boolean> {
    if ((await this.#found()) !== "own" || !(await this.#isOwnStorage())) return false;
    const names = (await this.#disk.readdir(this.#path)) ?? [];
    for (const name of names.filter((each) => completeName.test(each)))
      if (name === (await this.#completeName(join(this.#path, name)))) return true;
    return false;
  }

  async #build(build: () => Promise<void>): Promise<void> {
    for (const path of [this.#root, this.#path]) {
      await this.#disk.mkdir(path);
      if (this.#synced) await this.#disk.fsyncDir(dirname(path));
    }
    const begun = join(this.#path, building + randomUUID());
    await (await this.#disk.create(begun))?.close();
    await build();
    // Fails when the folder was removed meanwhile.
    await this.#disk.rename(begun, join(this.#path, await this.#completeName(begun)));
    if (this.#synced) await this.#disk.fsyncDir(this.#path);
    await this.#removeOthers().catch(() => {});
  }

  /** A copy of the index, which may be older than the agents beside it, has other files. */
  async #completeName(path: string): Promise<string> {
    const [folder, file] = await Promise.all([this.#disk.stat(this.#path), this.#disk.stat(path)]);
    return `+complete-${folder?.id ?? ""}-${file?.id ?? ""}`;
  }

  /** Adds to an index that is there. Where this process may not, the index is no longer complete. */
  async #add(add: () => Promise<void>): Promise<void> {
    const found = await this.#found();
    if (found === "none") return;
    if (found === "another user's") return this.#revoke().catch(unlessForbidden);
    try {
      await add();
    } catch (error) {
      // Removed meanwhile: whoever builds it again reads this agent.
      if (isMissing(error) && (await this.#found()) === "none") return;
      if (!isForbidden(error)) throw error;
      await this.#revoke();
    }
  }

  /** Lists read all agents from now on, and the next one builds the index again. */
  async #revoke(): Promise<void> {
    for (const name of (await this.#disk.readdir(this.#path)) ?? [])
      if (completeName.test(name) || name.startsWith(building)) await this.#disk.unlink(join(this.#path, name));
  }

  async #found(): Promise<"none" | "own" | "another user's"> {
    try {
      const found = await this.#disk.stat(this.#path);
      if (found?.folder !== true) return "none";
      return this.#isOwn(found) ? "own" : "another user's";
    } catch (error) {
      unlessForbidden(error);
      return "another user's";
    }
  }

  /**
   * Only the user whose storage it is has an index: what another one makes, such as root who looks at a list, the user of the
   * agents could neither read nor change.
   */
  async #isOwnStorage(): Promise<boolean> {
    return this.#isOwn((await this.#disk.stat(this.#tasks)) ?? {});
  }

  #isOwn({ owner }: { readonly owner?: number }): boolean {
    return this.#user === undefined || owner === undefined || owner === this.#user;
  }

  /** Indexes of earlier boots, and what a build left that did not end. */
  async #removeOthers(): Promise<void> {
    const names = (await this.#disk.readdir(this.#root)) ?? [];
    for (const path of names.map((name) => join(this.#root, name)).filter((path) => path !== this.#path))
      await this.#removeTree(path);
    for (const name of (await this.#disk.readdir(this.#path)) ?? [])
      if (name.startsWith(building)) await this.#disk.unlink(join(this.#path, name));
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

function isForbidden(error: unknown): boolean {
  return error instanceof StorageError && error.reason === "permission";
}

/** @throws what is no refusal of the system. */
function unlessForbidden(error: unknown): void {
  if (!isForbidden(error)) throw error;
}

/** Whether one mark stands for both: only what it is found by counts. */
function isSameMark(one: AgentSummary, other: AgentSummary): boolean {
  return one.status === other.status && one.order === other.order;
}
