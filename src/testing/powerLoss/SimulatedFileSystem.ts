import { checkSchema } from "../../internal/options/checkSchema.ts";
import { integerFrom } from "../../internal/options/optionSchemas.ts";
import type { FileSystem, OpenFile } from "../../nodejs/FileSystem.ts";
import { type CrashModel, type CrashOptions, crashOptionsSchema, RecordedTree } from "./RecordedTree.ts";
import { type Fault, faultSchema, FaultyCalls, type FileSystemCall, SimulatedSystemError } from "./Fault.ts";
import { FileTree } from "./FileTree.ts";

/**
 * A file system in memory that simulates crashes. Run a storage on it, record its acknowledged writes with their
 * `position`, and check the storage in every state that a crash may leave.
 *
 * A sync of a file makes the data of the file durable, but not its names. A sync of a directory makes the names in the
 * directory durable. Changes of names are atomic. Unsynced changes may be lost, and unsynced writes are split into
 * sectors of 512 bytes. Each call takes effect immediately.
 *
 * @example
 * ```ts
 * for (let after = 0; after <= fileSystem.position; after++)
 *   for (const state of fileSystem.crashStates(after)) await check(new MyStorage(state.restart()));
 * ```
 */
export class SimulatedFileSystem implements FileSystem {
  readonly #calls = new FaultyCalls();
  #traced = new RecordedTree(new FileTree());

  /** The number of changes and syncs so far, which identifies the time of a crash. */
  get position(): number {
    return this.#traced.length;
  }

  /** All calls so far, including reads. */
  get calls(): readonly FileSystemCall[] {
    return this.#calls.made;
  }

  /** Returns the contents of all files by path, as a running process sees them. */
  files(): Map<string, Uint8Array> {
    return new Map([...this.#traced.tree.files()].map(([path, content]) => [path, content.read()]));
  }

  /**
   * Injects a fault into later calls. Calls are counted from the first call, as in `calls`. `undefined` removes the
   * fault.
   */
  inject(fault: Fault | undefined): void {
    checkSchema(faultSchema.optional(), fault, "fault of a simulated file system");
    this.#calls.fault = fault;
  }

  /** Yields the possible states after a crash at this position. Some states may be equal. */
  crashStates(after: number, options: CrashOptions = {}): Generator<CrashState> {
    checkSchema(integerFrom(0), after, "position of a crash");
    checkSchema(crashOptionsSchema, options, "options of crashStates");
    return this.#traced.crashes(after, options, (tree) => {
      const next = new SimulatedFileSystem();
      next.#traced = tree;
      return next;
    });
  }

  async create(path: string): Promise<OpenFile> {
    this.#calls.begin("create", path);
    const node = this.#traced.tree.nextNode;
    this.#name(path, "create", node, "file");
    return {
      write: async (bytes) => this.#write(path, node, bytes),
      fdatasync: async () => this.#sync("fdatasync", path, node),
      fsync: async () => this.#sync("fsync", path, node),
      close: async () => this.#calls.begin("close", path),
    };
  }

  async readFile(path: string, start = 0, length?: number): Promise<Uint8Array> {
    this.#calls.begin("readFile", path);
    const content = this.#traced.tree.content(this.#find(path, "readFile"));
    if (content === undefined) throw new SimulatedSystemError("EISDIR", "readFile", path);
    return content.read(start, length);
  }

  async stat(path: string): Promise<{ readonly size: number; readonly folder: boolean; readonly id: string }> {
    this.#calls.begin("stat", path);
    const node = this.#find(path, "stat");
    const content = this.#traced.tree.content(node);
    return { size: content?.size ?? 0, folder: content === undefined, id: String(node) };
  }

  async link(existing: string, path: string): Promise<void> {
    this.#calls.begin("link", path);
    this.#name(path, "link", this.#find(existing, "link"));
  }

  async rename(from: string, to: string): Promise<void> {
    this.#calls.begin("rename", to);
    const { tree } = this.#traced;
    const place = { ...tree.entryOf(to, "rename"), from: tree.entryOf(from, "rename") };
    this.#traced.do({ kind: "rename", path: to, node: this.#find(from, "rename"), ...place });
  }

  async unlink(path: string): Promise<void> {
    this.#calls.begin("unlink", path);
    this.#find(path, "unlink");
    this.#traced.do({ kind: "unname", path, ...this.#traced.tree.entryOf(path, "unlink") });
  }

  async readdir(path: string): Promise<readonly string[]> {
    this.#calls.begin("readdir", path);
    return this.#traced.tree.names(this.#folder(path, "readdir"));
  }

  async mkdir(path: string): Promise<void> {
    this.#calls.begin("mkdir", path);
    this.#name(path, "mkdir", this.#traced.tree.nextNode, "folder");
  }

  async rmdir(path: string): Promise<void> {
    this.#calls.begin("rmdir", path);
    const { tree } = this.#traced;
    if (tree.names(this.#folder(path, "rmdir")).length > 0) throw new SimulatedSystemError("ENOTEMPTY", "rmdir", path);
    this.#traced.do({ kind: "unname", path, ...tree.entryOf(path, "rmdir") });
  }

  async fsyncDir(path: string): Promise<void> {
    this.#calls.begin("fsyncDir", path);
    this.#traced.do({ kind: "sync", path, node: this.#folder(path, "fsyncDir") });
  }

  #write(path: string, node: number, bytes: Uint8Array): number {
    const fault = this.#calls.next("write", path);
    const taken = bytes.slice(0, fault === undefined ? bytes.length : bytes.length >> 1);
    const offset = this.#traced.tree.content(node)?.size ?? 0;
    if (taken.length > 0) this.#traced.do({ kind: "write", path, node, offset, bytes: taken });
    if (fault !== undefined && fault !== "short write") throw new SimulatedSystemError(fault, "write", path);
    return taken.length;
  }

  #sync(operation: "fdatasync" | "fsync", path: string, node: number): void {
    const fault = this.#calls.next(operation, path);
    if (fault === "lying sync") this.#traced.do({ kind: "lose", path, node });
    if (fault !== undefined) throw new SimulatedSystemError(fault === "lying sync" ? "EIO" : fault, operation, path);
    this.#traced.do({ kind: "sync", path, node });
  }

  #name(path: string, call: string, node: number, makes?: "file" | "folder"): void {
    const entry = this.#traced.tree.entryOf(path, call);
    if (this.#traced.tree.find(path) !== undefined) throw new SimulatedSystemError("EEXIST", call, path);
    this.#traced.do({ kind: "name", path, ...entry, node, ...(makes && { makes }) });
  }

  #find(path: string, call: string): number {
    const node = this.#traced.tree.find(path);
    if (node === undefined) throw this.#traced.tree.missing(path, call);
    return node;
  }

  #folder(path: string, call: string): number {
    const node = this.#find(path, call);
    if (this.#traced.tree.content(node) !== undefined) throw new SimulatedSystemError("ENOTDIR", call, path);
    return node;
  }
}

/** A possible state after a crash. */
export interface CrashState {
  readonly model: CrashModel;
  /** The number of changes and syncs before the crash. */
  readonly after: number;
  /** The undone changes, for people. */
  readonly description: string;
  /**
   * Returns a new file system with the state that the next process finds. After a power loss, its content is durable
   * and `position` is 0. After a kill, `position` continues, and unsynced changes stay unsynced.
   */
  restart(): SimulatedFileSystem;
}
