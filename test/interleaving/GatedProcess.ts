import { createHash } from "node:crypto";
import type { FileSystem } from "agent-persistence/file";
import { normalized } from "./normalized.ts";

/** The folder in which owners meet. */
const segments = "/checkpoints";

/**
 * A process that stands still before each of its calls that meet those of others, until it is its turn: all on the folder of
 * segments and what is in it. What it does elsewhere (signs of life, temporary files) comes with the call before.
 */
export class GatedProcess {
  readonly name: string;
  /** What the process sees its files through. */
  readonly fileSystem: FileSystem;
  /** Files that were linked as segments, by the names they were made under. */
  readonly #segments = new Set<string>();
  readonly #waiting: (() => void)[] = [];
  /** Everything the process was told so far decides what it does next. */
  #told = "";
  #isGated = false;

  constructor(name: string, fileSystem: FileSystem) {
    this.name = name;
    this.fileSystem = this.#gated(fileSystem);
  }

  /** From now on it stands still before each call. */
  close(): void {
    this.#isGated = true;
  }

  get waits(): boolean {
    return this.#waiting.length > 0;
  }

  get told(): string {
    return this.#told;
  }

  /** Makes the next call, and goes on to the one after. */
  async step(): Promise<void> {
    this.#waiting.shift()?.();
    await settled();
  }

  #gated(files: FileSystem): FileSystem {
    const call =
      <Arguments extends readonly string[], Result>(name: string, action: (...given: Arguments) => Promise<Result>) =>
      (...given: Arguments) =>
        this.#call(`${name} ${given.join(" ")}`, () => action(...given));
    return {
      create: async (path) => {
        const file = await this.#call(`create ${path}`, () => files.create(path));
        // A segment is written under another name first, and goes on to be written when it has its own.
        const about = () => `${path}${this.#segments.has(path) ? segments : ""}`;
        return {
          write: (bytes) => this.#call(`write ${about()}`, () => file.write(bytes)),
          fdatasync: () => this.#call(`fdatasync ${about()}`, () => file.fdatasync()),
          fsync: () => this.#call(`fsync ${about()}`, () => file.fsync()),
          close: () => file.close(),
        };
      },
      readFile: (path, start, length) =>
        this.#call(`readFile ${path} ${start} ${length}`, () => files.readFile(path, start, length)),
      stat: call("stat", (path: string) => files.stat(path)),
      link: async (existing, path) => {
        await this.#call(`link ${existing} ${path}`, () => files.link(existing, path));
        this.#segments.add(existing);
      },
      rename: call("rename", (from: string, to: string) => files.rename(from, to)),
      unlink: call("unlink", (path: string) => files.unlink(path)),
      readdir: call("readdir", (path: string) => files.readdir(path)),
      mkdir: call("mkdir", (path: string) => files.mkdir(path)),
      rmdir: call("rmdir", (path: string) => files.rmdir(path)),
      fsyncDir: call("fsyncDir", (path: string) => files.fsyncDir(path)),
    };
  }

  async #call<Result>(what: string, action: () => Promise<Result>): Promise<Result> {
    if (this.#isGated && what.includes(segments)) await new Promise<void>((go) => void this.#waiting.push(go));
    try {
      const result = await action();
      this.#note(what, result);
      return result;
    } catch (error) {
      this.#note(what, String(error));
      throw error;
    }
  }

  #note(what: string, result: unknown): void {
    const text = result instanceof Uint8Array ? Buffer.from(result).toString("latin1") : JSON.stringify(result);
    this.#told = createHash("sha1")
      .update(`${this.#told}\n${normalized(`${what}\n${text}`)}`)
      .digest("base64");
  }
}

/** Everything that follows from a call has happened: nothing here waits for a timer or for another process. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
