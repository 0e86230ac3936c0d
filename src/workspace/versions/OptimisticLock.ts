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
import { fileIn } from "../files/contentOf.ts";
import type { FoundFile } from "../files/readFile.ts";
import { relativePath } from "../files/relativePath.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import type { Reservations } from "../reservations/Reservations.ts";
import type { CommitResult, FileVersion } from "./FileVersion.ts";

const newFileMode = 0o644;
const maximumFileBytes = 10 * 1024 * 1024;

/** What an optimistic lock works on. */
export interface OptimisticLockOptions {
  /** The folder with the files. */
  readonly root: string;
  /** Held while a file is checked and written, so that nobody else who uses them comes between. */
  readonly reservations: Reservations;
  /** Who writes: shown to those who wait. Default: `optimistic lock`. */
  readonly owner?: string | undefined;
  /** Milliseconds to wait for a file that others have reserved. Default: 30,000. */
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
 * Writes a file only if it is still what it was: look at it, make a new content in any time, and commit. Nobody is held up
 * meanwhile. Between the check and the write the file is reserved, so of all who reserve or commit none comes between. A
 * program that does neither can: what it writes in that moment, a fraction of a millisecond, is lost.
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
   * Remembers the file as it is, there or not. Acquiring it again remembers it anew.
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
   * Puts `content` in the place of the file at once and durably, if the file still has the content that was acquired; a new
   * file is made with the folders it needs. After a conflict the file stays acquired as it was: acquire it again to go on
   * from what is there.
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
    // This process may have been asleep since it was given the file.
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
