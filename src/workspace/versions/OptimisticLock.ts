import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { FileAccessError } from "../../errors/workspace/FileAccessError.ts";
import { FileNotAcquiredError } from "../../errors/workspace/FileNotAcquiredError.ts";
import { ReservationLostError } from "../../errors/workspace/ReservationLostError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { numberFrom, customSchema, nonEmptyString, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { fileIn, type FoundFile } from "../files/readFile.ts";
import { relativePath } from "../files/relativePath.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import type { Reservations } from "../reservations/Reservations.ts";

const newFileMode = 0o644;
const maximumFileBytes = 10 * 1024 * 1024;

/** The state in which a file was found. */
export interface FileVersion {
  /** Relative to the root, with "/". */
  readonly path: string;
  /** SHA-256 of the content, 64 hexadecimal digits; empty when there is no such file. */
  readonly hash: string;
  /** When the file was last modified, ISO 8601; for people, since only the content decides. Empty when there is no such file. */
  readonly mtime: string;
}

/** The result of `checkAndCommit`. */
export type CommitResult =
  | {
      readonly success: true;
      /** The file as written; it counts as acquired. */
      readonly version: FileVersion;
    }
  | {
      /** The file was changed since it was acquired. Nothing was written. */
      readonly success: false;
      readonly reason: "CONFLICT";
      /** The version that was acquired. */
      readonly originalVersion: FileVersion;
      /** The hash of `currentVersion`. */
      readonly currentHash: string;
      /** The current file. */
      readonly currentVersion: FileVersion;
    };

/** How an optimistic lock is set up. */
export interface OptimisticLockOptions {
  /** The folder with the files. */
  readonly root: string;
  /** Hold the file while it is checked and written, so that no other user of these reservations writes in between. */
  readonly reservations: Reservations;
  /** The name that waiting owners see. Default: `optimistic lock`. */
  readonly owner?: string | undefined;
  /** Milliseconds to wait for a file that others have reserved. Default: 30,000 (half a minute). */
  readonly timeoutMs?: number | undefined;
}

const optionsSchema = strictOptions({
  root: nonEmptyString,
  reservations: objectWithMethods<Reservations>("acquire"),
  owner: z.string().optional(),
  timeoutMs: numberFrom(0).optional(),
});

const pathSchema = z.object({ path: z.string() });

const commitSchema = pathSchema.extend({
  content: customSchema("text or a Uint8Array", (value) => typeof value === "string" || value instanceof Uint8Array),
});

/**
 * Writes a file only if its content is unchanged: acquire it, make the new content in your own time, and commit. Nobody has
 * to wait meanwhile. The file is reserved between the check and the write, so no program that reserves or commits can write
 * in between. Any other program can: its write in that fraction of a millisecond is lost.
 */
export class OptimisticLock {
  readonly #files: WorkspaceFiles;
  readonly #reservations: Reservations;
  readonly #owner: string;
  readonly #timeoutMs: number;
  readonly #acquired = new Map<string, FileVersion>();

  /** @throws InvalidInputError */
  constructor(options: OptimisticLockOptions) {
    checkSchema(optionsSchema, options, "options of the optimistic lock");
    const { root, reservations, owner = "optimistic lock", timeoutMs = 30_000 } = options;
    this.#files = new WorkspaceFiles(root, maximumFileBytes);
    this.#reservations = reservations;
    this.#owner = owner;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Remembers the current content of the file, or that there is no file. Acquiring again replaces what was remembered.
   *
   * @throws InvalidInputError, PathNotAllowedError, FileAccessError
   */
  async acquire(path: string): Promise<FileVersion> {
    checkSchema(pathSchema, { path }, "file to acquire");
    const relative = relativePath(path);
    const version = await this.#versionOf(relative, await this.#files.read(relative));
    this.#acquired.set(relative, version);
    return version;
  }

  /**
   * Replaces the file atomically and durably with `content`, if it still has the acquired content. A new file gets the
   * folders it needs. After a conflict the acquired version stays the same: acquire the file again to start from its
   * current content.
   *
   * @throws InvalidInputError, FileNotAcquiredError, FileReservedError, ReservationLostError, PathNotAllowedError, FileAccessError
   */
  async checkAndCommit(path: string, content: string | Uint8Array): Promise<CommitResult> {
    checkSchema(commitSchema, { path, content }, "content to commit");
    const relative = relativePath(path);
    const originalVersion = this.#acquired.get(relative);
    if (originalVersion === undefined) throw new FileNotAcquiredError(relative);
    await using reservation = await this.#reservations.acquire([{ path: relative, operation: "write" }], {
      owner: this.#owner,
      timeoutMs: this.#timeoutMs,
    });
    const found = await this.#files.read(relative);
    const currentVersion = await this.#versionOf(relative, found);
    const { hash: currentHash } = currentVersion;
    if (currentHash !== originalVersion.hash)
      return { success: false, reason: "CONFLICT", originalVersion, currentHash, currentVersion };
    // This process may have slept since it got the reservation.
    if (!reservation.held) throw new ReservationLostError(this.#owner, relative);
    await this.#put(relative, found, typeof content === "string" ? Buffer.from(content) : content);
    return { success: true, version: await this.acquire(relative) };
  }

  async #put(path: string, found: FoundFile, content: Uint8Array): Promise<void> {
    const mode = found.kind === "file" && found.state.kind === "file" ? found.state.mode : newFileMode;
    const { length: bytes } = content;
    if (bytes > maximumFileBytes)
      throw new FileAccessError(path, `would have ${bytes} bytes, over ${maximumFileBytes}`);
    await this.#files.put(path, { kind: "file", hash: nodeSha256.hex(content), bytes, mode }, content);
  }

  async #versionOf(path: string, found: FoundFile): Promise<FileVersion> {
    if (found.kind === "missing") return { path, hash: "", mtime: "" };
    const { content } = fileIn(found, path);
    const status = await lstat(join(this.#files.root, path)).catch(() => undefined);
    return { path, hash: nodeSha256.hex(content), mtime: status?.mtime.toISOString() ?? "" };
  }
}
