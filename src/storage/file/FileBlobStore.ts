import { type Clock, systemClock } from "../../internal/Clock.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { clockSchema, nonEmptyString, objectWithMethods, sha256Schema } from "../../internal/options/optionSchemas.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { Disk } from "../../nodejs/Disk.ts";
import type { FileSystem } from "../../nodejs/FileSystem.ts";
import { nodeFileSystem } from "../../nodejs/nodeFileSystem.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import { deleteOldest } from "../../internal/deleteOldest.ts";
import {
  AgentFolder,
  ensureAgentFolder,
  isOfEarlierOwner,
  removeFiles,
  replaceAtomically,
} from "./layout/AgentFolder.ts";
import { join, resolve } from "node:path";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { formatBlobReference, parseBlobReference } from "../blobs.ts";
import { HashedBlobs } from "../HashedBlobs.ts";
import type { FileBackend } from "./owner/FileBackend.ts";

/** Stores blobs as files that are named by content and owner, so two owners never write or remove the same file. */
export class AgentBlobs extends HashedBlobs {
  readonly #backend: Pick<FileBackend, "disk" | "sha256" | "tasks">;

  constructor(backend: Pick<FileBackend, "disk" | "sha256" | "tasks">) {
    super(() => Promise.resolve(backend.sha256));
    this.#backend = backend;
  }

  async putNamed(agentId: string, reference: string, bytes: Uint8Array): Promise<void> {
    const folder = this.folder(agentId);
    const { generation = 1 } = parseBlobReference(reference) ?? {};
    await this.makeFolders(this.#backend.disk, folder, generation);
    // Rewrites an existing file, because an earlier put may have failed before its sync.
    const path = pathOf(folder, reference) ?? folder.blobs;
    await replaceAtomically(this.#backend.disk, folder, path, generation, bytes, true);
  }

  async getNamed(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    const path = pathOf(this.folder(agentId), reference);
    return path === undefined ? undefined : this.#backend.disk.readFile(path);
  }

  async copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean> {
    const { disk } = this.#backend;
    const folder = this.folder(toAgentId);
    const from = pathOf(this.folder(fromAgentId), reference);
    const to = pathOf(folder, reference);
    if (from === undefined || to === undefined || (await disk.stat(from))?.folder !== false) return false;
    await this.makeFolders(disk, folder, parseBlobReference(reference)?.generation ?? 1);
    // A crash may have left an incomplete copy.
    await disk.unlink(to);
    const outcome = await disk.link(from, to);
    if (outcome === "linked") await disk.fsyncDir(folder.blobs);
    if (outcome !== "unsupported") return outcome !== "missing";
    return this.#copyBytes(fromAgentId, reference, toAgentId);
  }

  async delete(agentId: string, reference: string): Promise<void> {
    const path = pathOf(this.folder(agentId), reference);
    if (path !== undefined) await this.#backend.disk.unlink(path);
  }

  /** Creates the blob directory. The directories of an owned agent exist unless the agent was removed. */
  protected async makeFolders(disk: Disk, folder: AgentFolder, _generation: number): Promise<void> {
    await disk.mkdir(folder.blobs);
  }

  async #copyBytes(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean> {
    const bytes = await this.get(fromAgentId, reference);
    const parsed = parseBlobReference(reference);
    if (bytes && parsed) await this.put(toAgentId, parsed.generation, bytes, parsed.encoding);
    return bytes !== undefined;
  }

  protected async placeOf(agentId: string, reference: string): Promise<string | undefined> {
    return pathOf(this.folder(agentId), reference);
  }

  protected folder(agentId: string): AgentFolder {
    assertAgentId(agentId);
    return new AgentFolder(this.#backend.tasks, agentId, this.#backend.sha256);
  }
}

/** Options of {@link FileBlobStore}. */
export interface FileBlobStoreOptions {
  /** The directory. It is created with the first blob. */
  readonly directory: string;
  /** Defaults to `nodeFileSystem`. */
  readonly fileSystem?: FileSystem | undefined;
  /** The clock for delays between attempts to open a file. Defaults to the system clock. */
  readonly clock?: Clock | undefined;
  /** Defaults to the SHA-256 of Node. */
  readonly sha256?: Sha256 | undefined;
}

const optionsSchema = strictOptions(() => ({
  directory: nonEmptyString,
  fileSystem: objectWithMethods<FileSystem>(
    "create",
    "readFile",
    "stat",
    "link",
    "rename",
    "unlink",
    "mkdir",
  ).optional(),
  clock: clockSchema.optional(),
  sha256: sha256Schema.optional(),
}));

/** More than the number of agents that run at the same time. */
const mostMade = 10_000;

/**
 * Stores blobs as files for a log in another storage. Pass this store as the option `blobs` of an SQLite storage. A
 * stored blob survives crashes and power loss. When an agent is deleted, its files stay.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 */
export class FileBlobStore extends AgentBlobs {
  readonly #made = new Set<string>();

  constructor(options: FileBlobStoreOptions) {
    checkSchema(optionsSchema, options, "options of the blobs in files");
    const { directory, fileSystem = nodeFileSystem, clock = systemClock, sha256 = nodeSha256 } = options;
    super({ disk: new Disk(fileSystem, clock), sha256, tasks: join(resolve(directory), "tasks") });
  }

  /** Recreates a directory that was removed since its last use. */
  override async putNamed(agentId: string, reference: string, bytes: Uint8Array): Promise<void> {
    try {
      await super.putNamed(agentId, reference, bytes);
    } catch (error) {
      const isRemoved = error instanceof StorageError && error.reason === "unavailable";
      if (!isRemoved) throw error;
      this.#forget(agentId);
      await super.putNamed(agentId, reference, bytes);
    }
  }

  override async copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean> {
    if (await super.copy(fromAgentId, reference, toAgentId)) return true;
    this.#forget(toAgentId);
    return super.copy(fromAgentId, reference, toAgentId);
  }

  /**
   * Creates the directories of an agent. Runs once per agent, because a crash may have left only some of them. Also
   * removes temporary files of earlier owners.
   */
  protected override async makeFolders(disk: Disk, folder: AgentFolder, generation: number): Promise<void> {
    if (this.#made.has(folder.path)) return;
    await ensureAgentFolder(disk, folder);
    await removeFiles(disk, folder.temporary, isOfEarlierOwner(generation)).catch(() => {});
    this.#made.add(folder.path);
    deleteOldest(this.#made, mostMade);
  }

  #forget(agentId: string): void {
    this.#made.delete(this.folder(agentId).path);
  }
}

function pathOf(folder: AgentFolder, reference: string): string | undefined {
  const parsed = parseBlobReference(reference);
  return parsed && join(folder.blobs, formatBlobReference(parsed).slice("blob://".length));
}
