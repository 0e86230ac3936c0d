import { checkSchema } from "../../internal/options/checkSchema.ts";
import { integerFrom } from "../../internal/options/optionSchemas.ts";
import type { FileSystem, OpenFile } from "../../node/FileSystem.ts";
import { type CrashModel, type CrashOptions, crashOptionsSchema, RecordedTree } from "./RecordedTree.ts";
import { type Fault, faultSchema, FaultyCalls, type FileSystemCall, SimulatedSystemError } from "./Fault.ts";
import { FileTree } from "./FileTree.ts";

/**
 * A file system in memory that knows what it would lose. Run a storage on it, note what the storage acknowledged at which
 * `position`, and look at every state that a crash may leave:
 *
 *     for (let after = 0; after <= fileSystem.position; after++)
 *       for (const state of fileSystem.crashStates(after)) await check(new MyStorage(state.restart()));
 *
 * The model: a sync of a file makes what was written to it durable, and neither its names nor its folder; a sync of a
 * folder makes the names in it durable. A name is put, removed or replaced at once or not at all. Of what was not synced
 * anything may be lost, written data in sectors of 512 bytes. Every call takes effect when it is made.
 */
export class SimulatedFileSystem implements FileSystem {
  readonly #calls = new FaultyCalls();
  #traced = new RecordedTree(new FileTree());

  /** How many changes and syncs there were: the moment to compare with that of a crash. */
  get position(): number {
    return this.#traced.length;
  }

  /** All calls so far, those that only read included. */
  get calls(): readonly FileSystemCall[] {
    return this.#calls.made;
  }

  /** The contents of all files by their paths, as a process sees them. */
  files(): Map<string, Uint8Array> {
    return new Map([...this.#traced.tree.files()].map(([path, content]) => [path, content.read()]));
  }

  /** Lets calls fail; `undefined` heals. Calls are counted from the first on, as in `calls`. */
  inject(fault: Fault | undefined): void {
    checkSchema(faultSchema.optional(), fault, "fault of a simulated file system");
    this.#calls.fault = fault;
  }

  /** What a crash may leave that comes after so many changes and syncs. Some of the states may be equal. */
  crashStates(after: number, options: CrashOptions = {}): Generator<CrashState> {
    checkSchema(integerFrom(0), after, "position of a crash");
    checkSchema(crashOptionsSchema, options, "options of crashStates");
    return this.#crashStates(after, options);
  }

  *#crashStates(after: number, options: CrashOptions): Generator<CrashState> {
    for (const crashed of this.#traced.crashes(after, options)) {
      yield {
        model: crashed.model,
        after,
        get description() {
          return crashed.description;
        },
        restart: () => {
          const next = new SimulatedFileSystem();
          next.#traced = crashed.restart();
          return next;
        },
      };
    }
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

/** A state that a crash may leave. */
export interface CrashState {
  readonly model: CrashModel;
  /** How many changes and syncs came before the crash. */
  readonly after: number;
  /** What the crash undid, for people. */
  readonly description: string;
  /**
   * What the next process finds; another one each time. After a loss of power all of it is durable and `position` is 0.
   * After a kill `position` keeps counting, and what was not synced before still is not.
   */
  restart(): SimulatedFileSystem;
}
