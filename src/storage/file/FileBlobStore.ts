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

/** Where the files are, and what a test may replace. */
export interface FileBlobStoreOptions {
  /** The folder; it is made when the first blob is put. */
  readonly directory: string;
  /** Default: `nodeFileSystem`. */
  readonly fileSystem?: FileSystem | undefined;
  /** What waits before an open is tried again. Default: the machine's. */
  readonly clock?: Clock | undefined;
  /** Default: Node's own. */
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
 * Blobs as files of their own, for a log that is kept elsewhere: pass it as the option `blobs` of an SQLite storage. A blob
 * that was put survives a crash and a loss of power. Deleting an agent leaves its files.
 *
 * @throws InvalidInputError when an option is unknown or has a wrong value.
 */
export class FileBlobStore extends AgentBlobs {
  readonly #made = new Set<string>();

  constructor(options: FileBlobStoreOptions) {
    checkSchema(optionsSchema, options, "options of the blobs in files");
    const { directory, fileSystem = nodeFileSystem, clock = systemClock, sha256 = nodeSha256 } = options;
    super({ disk: new Disk(fileSystem, clock), sha256, tasks: join(resolve(directory), "tasks") });
  }

  /** Once for each agent: a crash may have come between two of its folders. */
  protected override async makeFolders(disk: Disk, folder: AgentFolder): Promise<void> {
    if (this.#made.has(folder.path)) return;
    await ensureAgentFolder(disk, folder);
    this.#made.add(folder.path);
  }
}
