import type { Entry } from "../../checkpoint/records/Entry.ts";
import { AlreadyExistsError, StorageClosedError, StorageError } from "../../errors/storageErrors.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { customSchema, nonEmptyString, numberFrom, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { Disk } from "../../nodejs/Disk.ts";
import { type FileSystem, readOnlyFileSystem } from "../../nodejs/FileSystem.ts";
import type { ProcessIdentity } from "../../nodejs/ProcessIdentity.ts";
import { nodeFileSystem } from "../../nodejs/nodeFileSystem.ts";
import { nodeProcessIdentity } from "../../nodejs/nodeProcessIdentity.ts";
import type { BlobStore } from "../BlobStore.ts";
import {
  LogPersistenceStorageProvider,
  logProviderShape,
  type LogProviderOptions,
} from "../LogPersistenceStorageProvider.ts";
import type {
  AgentSummary,
  LastAppend,
  ListOptions,
  LogCapabilities,
  LogEnd,
  LogOwner,
  LogWatch,
  OwnedLog,
  ReadOptions,
  RecordLog,
  StoredAppends,
} from "../RecordLog.ts";
import { isOwned } from "../summaries.ts";
import { leaseOptions, logArguments } from "../appends/logArguments.ts";
import { OwnedLogs } from "../lease/OwnedLogs.ts";
import { AgentBlobs } from "./FileBlobStore.ts";
import { FileOwnedLog } from "./FileOwnedLog.ts";
import { StatusIndex } from "./index/StatusIndex.ts";
import { type FileBackend, DiskReserve } from "./owner/FileBackend.ts";
import { type Judgement, OwnerLiveness } from "./owner/OwnerLiveness.ts";
import { SegmentPublisher } from "./owner/SegmentPublisher.ts";
import { AgentFolder, assertNoLinks, replaceAtomically, segmentGenerations } from "./layout/AgentFolder.ts";
import { takeOwnership } from "./takeOwnership.ts";
import { LogReader } from "./read/LogReader.ts";
import { salvageAgent, type SalvageReport, type SalvageSide } from "./salvageAgent.ts";
import { listAgents } from "./listAgents.ts";
import { dirname, join, resolve } from "node:path";
import type { z } from "zod";

/** Options of a file storage. Some exist only for tests. */
export interface FileRecordLogOptions {
  /** Defaults to `.agent-persistence` in the working directory. Created when the first agent is opened. */
  readonly directory?: string | undefined;
  /** The lease in milliseconds. An owner renews its lease after every third of this time. Defaults to 15,000. */
  readonly leaseMs?: number | undefined;
  /**
   * The size of a reserve file for a full device, in bytes. When `prune()` or `deleteAgent()` runs out of space, the
   * file is removed, and created again afterwards. With 0, there is no reserve file. Defaults to 262,144.
   */
  readonly reserveBytes?: number | undefined;
  /** Defaults to `nodeFileSystem`. */
  readonly fileSystem?: FileSystem | undefined;
  /** The clock for leases. Defaults to the system clock. */
  readonly clock?: Clock | undefined;
  /** The identity of this process. Defaults to the identity that the system reports. */
  readonly processIdentity?: ProcessIdentity | undefined;
  /** Defaults to the SHA-256 of Node. */
  readonly sha256?: Sha256 | undefined;
}

const fileRecordLogShape: Readonly<Record<keyof FileRecordLogOptions, z.ZodType>> = {
  ...leaseOptions,
  directory: nonEmptyString.optional(),
  reserveBytes: numberFrom(0).optional(),
  fileSystem: objectWithMethods<FileSystem>(
    "create",
    "readFile",
    "stat",
    "link",
    "rename",
    "unlink",
    "readdir",
    "mkdir",
    "rmdir",
    "fsyncDir",
  ).optional(),
};

const optionsSchema = strictOptions(() => fileRecordLogShape);
const targetSchema = customSchema("a FileRecordLog, such as `storage.log`", (to) => to instanceof FileRecordLog);

/**
 * Stores logs as files in one directory, for any number of processes on one machine. An append is one write and one
 * sync. On a file system without hard links, only one process may use the directory. `capabilities` reports this after
 * the first open.
 */
export class FileRecordLog implements RecordLog {
  readonly version = "v1";
  readonly blobs: BlobStore;
  readonly #backend: FileBackend;
  /** The backend for read-only lists. */
  readonly #reading: FileBackend;
  readonly #directory: string;
  readonly #owned = new OwnedLogs<FileOwnedLog>("The file storage");

  constructor(options: FileRecordLogOptions = {}) {
    checkSchema(optionsSchema, options, "options of the file storage");
    const { directory = ".agent-persistence", leaseMs = 15_000, clock = systemClock, sha256 = nodeSha256 } = options;
    const { reserveBytes = 256 * 1024, fileSystem = nodeFileSystem } = options;
    const disk = new Disk(fileSystem, clock);
    const identity = options.processIdentity ?? nodeProcessIdentity();
    const folder = resolve(directory);
    this.#directory = folder;
    const machine = { disk, sha256, clock, identity, leaseMs, tasks: join(folder, "tasks") };
    this.#backend = {
      ...machine,
      index: new StatusIndex(machine),
      judge: new OwnerLiveness(machine),
      publisher: new SegmentPublisher(disk),
      reserve: new DiskReserve(disk, join(folder, "reserve"), reserveBytes),
    };
    const reading = { ...machine, disk: new Disk(readOnlyFileSystem(fileSystem), clock) };
    this.#reading = { ...this.#backend, ...reading, index: new StatusIndex(reading) };
    this.blobs = new AgentBlobs(this.#backend);
  }

  get capabilities(): LogCapabilities {
    const processes = this.#backend.publisher.linkSupported ? "many" : "one";
    return { durable: true, processes, machines: "one", listing: "exact", narrows: true, folder: this.#directory };
  }

  async open(agentId: string, owner: LogOwner): Promise<OwnedLog> {
    this.#owned.assertOpenable(agentId, owner);
    const { tasks, path } = this.#folder(agentId);
    if (owner.mustExist && (await assertNoLinks(this.#backend.disk, [tasks, path])).length > 0)
      return absentLog(agentId);
    return this.#open(agentId, owner);
  }

  async #open(agentId: string, owner: LogOwner): Promise<FileOwnedLog> {
    const folder = this.#folder(agentId);
    const taken = await takeOwnership(this.#backend, folder, owner);
    const owned: FileOwnedLog = new FileOwnedLog(this.#backend, folder, taken, () => {
      this.#owned.delete(owned);
      this.#owned.watchers.tell();
    });
    return this.#owned.add(owned, async () => {
      await owned.start(taken);
      await this.#backend.reserve.keep();
    });
  }

  async *read(agentId: string, options: ReadOptions = {}): AsyncGenerator<Entry> {
    checkSchema(logArguments.read, options, "options of read()");
    // `yield*` would wait several times per entry.
    const reader = new LogReader(this.#folder(agentId), this.#backend);
    for (const entry of await reader.read(options, this.#owned.of(agentId)?.forReader())) yield entry;
  }

  async *encodedAppends(agentId: string, options: { readonly upTo?: number } = {}): AsyncGenerator<Uint8Array> {
    checkSchema(logArguments.encodedAppends, options, "options of encodedAppends()");
    for (const line of await new LogReader(this.#folder(agentId), this.#backend).lines(options.upTo)) yield line;
  }

  async receive(agentId: string, owner: LogOwner, received: StoredAppends, last: LastAppend): Promise<OwnedLog> {
    this.#owned.assertOpenable(agentId, owner);
    for await (const _ of this.read(agentId)) throw new AlreadyExistsError("agent_exists", agentId);
    return this.#owned.receive(await this.#open(agentId, owner), received, last);
  }

  async *list({ limit = Infinity, free, readOnly, ...selection }: ListOptions = {}): AsyncGenerator<AgentSummary> {
    this.#owned.assertOpen();
    let left = limit;
    let found = 0;
    const backend = readOnly ? this.#reading : this.#backend;
    for await (const summary of left > 0 ? listAgents(backend, selection, left < Infinity) : []) {
      found++;
      if (free && (await isOwned(this, summary.agentId))) continue;
      yield summary;
      if (--left <= 0) return;
    }
    if (found === 0) await this.#assertFolder();
  }

  async unremovedBytes(agentId: string): Promise<number> {
    return new LogReader(this.#folder(agentId), this.#backend).unremovedBytes();
  }

  async end(agentId: string): Promise<LogEnd> {
    return new LogReader(this.#folder(agentId), this.#backend).end();
  }

  async owner(agentId: string): ReturnType<RecordLog["owner"]> {
    const { generation, state, claim } = (await this.#judge(this.#folder(agentId))) ?? { state: "free" };
    if (state === "free" || generation === undefined) return undefined;
    const { host = "", processId = 0, nonce = "" } = claim ?? {};
    return { host, processId, nonce, generation, state };
  }

  async requestStop(agentId: string, reason: string): Promise<void> {
    checkSchema(logArguments.reason, reason, "reason of a stop");
    const folder = this.#folder(agentId);
    const judgement = await this.#judge(folder);
    if (judgement === undefined || judgement.state === "free") return;
    const { generation } = judgement;
    const request = Buffer.from(`${reason}\n`);
    const { disk } = this.#backend;
    // The file proves that the segment exists, which must then survive a power loss.
    await disk.fsyncDir(folder.checkpoints);
    await replaceAtomically(disk, folder, folder.stop(generation), generation, request, false);
    this.#owned.requestStop(agentId, generation, reason.trimEnd());
  }

  /**
   * Copies the intact start of a damaged agent into another storage, to be used in place of the damaged agent. The
   * damaged agent is only read. The copy contains all appends before the damage, byte for byte, so checkpoints keep
   * their ids. It does not contain later records, even if they recorded effects. Reads every file of the agent.
   *
   * @param to - a storage without an agent of this id.
   * @throws AlreadyExistsError if `to` already has the agent. Writes no data in this case.
   * @throws InvalidInputError if this storage has no agent of this id. Writes no data in this case.
   */
  async salvage(agentId: string, to: FileRecordLog): Promise<SalvageReport> {
    checkSchema(targetSchema, to, "storage to salvage into");
    return salvageAgent(this.#side(agentId), to.#side(agentId));
  }

  /** Reports only owners in this process. To notice other owners, callers must poll. */
  async watch(onChange: () => void): Promise<LogWatch> {
    this.#owned.assertOpen();
    return this.#owned.watchers.watch(onChange);
  }

  close(): Promise<void> {
    return this.#owned.close();
  }

  makeRoom(): Promise<boolean> {
    return this.#backend.reserve.release();
  }

  async #judge(folder: AgentFolder): Promise<(Judgement & { readonly generation: number }) | undefined> {
    const { disk } = this.#backend;
    const { tasks, path, checkpoints, owners, temporary } = folder;
    await assertNoLinks(disk, [tasks, path, checkpoints, owners, temporary]);
    const [generation] = segmentGenerations((await disk.readdir(folder.checkpoints)) ?? []);
    const judgement = generation === undefined ? undefined : await this.#backend.judge.judge(folder, generation);
    return generation === undefined || judgement === undefined ? undefined : { ...judgement, generation };
  }

  /** @throws StorageError if the directory is a file. */
  async #assertFolder(): Promise<void> {
    const path = dirname(this.#backend.tasks);
    const { disk } = this.#backend;
    const found = await disk.stat(path);
    // The path may be a link to a directory.
    if (found === undefined || found.folder || (await disk.stat(`${path}/.`))?.folder === true) return;
    const cause = Object.assign(new Error("not a directory"), { code: "ENOTDIR" });
    throw new StorageError("unavailable", "readdir", path, { cause });
  }

  #side(agentId: string): SalvageSide {
    return { backend: this.#backend, folder: this.#folder(agentId), blobs: this.blobs };
  }

  #folder(agentId: string): AgentFolder {
    this.#owned.assertUsable(agentId);
    return new AgentFolder(this.#backend.tasks, agentId, this.#backend.sha256);
  }
}

/** Options of {@link FilePersistenceStorageProvider}. */
export interface FileProviderOptions extends FileRecordLogOptions, Omit<LogProviderOptions, "sha256"> {}

const providerSchema = strictOptions(() => ({ ...fileRecordLogShape, ...logProviderShape }));

/**
 * Stores agents in a local directory. A resolved save survives crashes and power loss. Several processes may share the
 * directory. Created files and directories are readable only by the current user.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 *
 * @example
 * ```ts
 * const storage = new FilePersistenceStorageProvider({ directory: "./agents" });
 * const agent = new AIAgent({ promptExecutor, llmModel }).install(Persistence, { storage });
 * ```
 */
export class FilePersistenceStorageProvider extends LogPersistenceStorageProvider {
  constructor(options: FileProviderOptions = {}) {
    checkSchema(providerSchema, options, "options of the file storage");
    const { inlineThresholdBytes, compressThresholdBytes, sha256 = nodeSha256, ...log } = options;
    super(new FileRecordLog({ ...log, sha256 }), { inlineThresholdBytes, compressThresholdBytes, sha256 });
  }
}

/** Returns a log without owner and files, for an agent that must exist but does not exist. */
function absentLog(agentId: string): OwnedLog {
  const error = new StorageClosedError(`The log of agent ${JSON.stringify(agentId)}, which does not exist,`);
  const end = async () => {};
  const { signal: lost } = new AbortController();
  return { position: 0, generation: 0, lost, append: () => Promise.reject(error), prune: end, drop: end, release: end };
}
