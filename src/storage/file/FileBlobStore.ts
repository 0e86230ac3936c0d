import { type Clock, systemClock } from "../../internal/Clock.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { clockSchema, nonEmptyString, objectWithMethods, sha256Schema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { Disk } from "../../node/Disk.ts";
import type { FileSystem } from "../../node/FileSystem.ts";
import { nodeFileSystem } from "../../node/nodeFileSystem.ts";
import { AgentBlobs } from "./AgentBlobs.ts";
import { type AgentFolder, ensureAgentFolder } from "./layout/AgentFolder.ts";
import { join, resolve } from "node:path";

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

const optionsSchema = strictOptions({
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
});

/**
 * Stores blobs as files for a log in another storage. Pass it as the option `blobs` of an SQLite storage. A stored blob
 * survives crashes and power loss. Deleting an agent leaves its files.
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

  /** Runs once per agent, because a crash may have left only some of its directories. */
  protected override async makeFolders(disk: Disk, folder: AgentFolder): Promise<void> {
    if (this.#made.has(folder.path)) return;
    await ensureAgentFolder(disk, folder);
    this.#made.add(folder.path);
  }
}
