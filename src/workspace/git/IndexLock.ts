import { open, readFile, rename, rm } from "node:fs/promises";
import { GitError } from "../../errors/workspace/GitError.ts";
import { type TreeEntry, updateIndex } from "./changes.ts";
import type { GitRepository } from "./GitRepository.ts";

/**
 * The lock with which git itself guards the index of a work tree. While it is held, no other git command stages or commits
 * there.
 */
export class IndexLock implements AsyncDisposable {
  readonly #repository: GitRepository;
  readonly #file: string;
  #held = true;

  private constructor(repository: GitRepository, file: string) {
    this.#repository = repository;
    this.#file = file;
  }

  /** @throws GitError when another git command holds it, or the repository is not that of the work tree. */
  static async take(repository: GitRepository): Promise<IndexLock> {
    await repository.assertWritable();
    const file = repository.gitPath("index.lock");
    try {
      await (await open(file, "wx", 0o644)).close();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const reason =
        code === "EEXIST"
          ? `${JSON.stringify(file)} exists: another git command is running, or one was killed; delete the file if none is running`
          : `${JSON.stringify(file)} could not be created (${code ?? "unknown"})`;
      throw new GitError("update-index", reason, { cause: error });
    }
    return new IndexLock(repository, file);
  }

  /** Sets entries of the index, atomically; other entries stay. Gives the lock back. */
  async update(entries: readonly TreeEntry[]): Promise<void> {
    await this.prepare(entries);
    await this.put();
  }

  /** Writes an index with other entries beside that of the work tree: `put` puts it in its place. */
  async prepare(entries: readonly TreeEntry[]): Promise<void> {
    const copy = await this.#repository.copyOfIndex();
    await updateIndex(this.#repository, copy, entries);
    const handle = await open(this.#file, "r+");
    try {
      await handle.writeFile(await readFile(copy));
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** Makes what was prepared the index. Gives the lock back. */
  async put(): Promise<void> {
    await rename(this.#file, this.#repository.gitPath("index"));
    this.#held = false;
  }

  /** Gives the lock back, if it is still held. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#held) await rm(this.#file, { force: true });
    this.#held = false;
  }
}
