import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { FileAccessError, ReservationLostError } from "../../errors/workspaceErrors.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { numberFrom, customSchema, nonEmptyString, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { fileIn, type FoundFile } from "../files/readFile.ts";
import { relativePath } from "../files/relativePath.ts";
import { WorkspaceFiles } from "../files/WorkspaceFiles.ts";
import type { Reservations } from "./Reservations.ts";

const newFileMode = 0o644;
const maximumFileBytes = 10 * 1024 * 1024;

/** The state of a file at one time. */
export interface FileVersion {
  /** Relative to the root, with "/". */
  readonly path: string;
  /** SHA-256 of the content in hex (64 digits). Empty for a missing file. */
  readonly hash: string;
  /** The modification time in ISO 8601, for information only. Empty for a missing file. */
  readonly mtime: string;
}

/** The result of `checkAndCommit`. */
export type CommitResult =
  | {
      readonly success: true;
      /** The written file, from which the next commit of the same `AcquiredFile` starts. */
      readonly version: FileVersion;
    }
  | {
      /** The file was changed after it was acquired, and was not written. */
      readonly success: false;
      readonly reason: "CONFLICT";
      /** The acquired version. */
      readonly originalVersion: FileVersion;
      /** The hash of `currentVersion`. */
      readonly currentHash: string;
      /** The current file. */
      readonly currentVersion: FileVersion;
    };

/** Options of an `OptimisticLock`. */
export interface OptimisticLockOptions {
  /** The root directory of the files. */
  readonly root: string;
  /**
   * Reserves the file from the check to the write, against other users of these reservations. Must have the same root
   * as the lock.
   */
  readonly reservations: Reservations;
  /** The name that waiting owners see. Defaults to `optimistic lock`. */
  readonly owner?: string | undefined;
  /** Milliseconds to wait for a file that others have reserved. Defaults to 30,000 (half a minute). */
  readonly timeoutMs?: number | undefined;
}

const optionsSchema = strictOptions(() => ({
  root: nonEmptyString,
  reservations: objectWithMethods<Reservations>("acquire"),
  owner: z.string().optional(),
  timeoutMs: numberFrom(0).optional(),
}));

const pathSchema = z.object({ path: z.string() });

const commitSchema = z.object({
  content: customSchema("text or a Uint8Array", (value) => typeof value === "string" || value instanceof Uint8Array),
});

/**
 * Writes a file only if its content is unchanged. Acquire the file, prepare the new content for any time without
 * blocking others, then commit. The file is reserved from the check to the write, so programs that use reservations or
 * commits cannot write in between. The rename directly follows the last check. If another program saves the file
 * between these two steps, that save is lost.
 *
 * @example
 * ```ts
 * const lock = new OptimisticLock({ root: "project", reservations: new Reservations({ root: "project" }) });
 * const file = await lock.acquire("notes.md");
 * const result = await file.checkAndCommit("new content");
 * if (!result.success) console.log("Changed by others:", result.currentVersion.hash);
 * ```
 */
export class OptimisticLock {
  readonly #commits: Commits;

  /** @throws InvalidInputError */
  constructor(options: OptimisticLockOptions) {
    checkSchema(optionsSchema, options, "options of the optimistic lock");
    const { root, reservations, owner = "optimistic lock", timeoutMs = 30_000 } = options;
    this.#commits = { files: new WorkspaceFiles(root, maximumFileBytes), reservations, owner, timeoutMs };
  }

  /**
   * Reads the file and remembers its content, or that it does not exist. Each call returns an independent lock, which
   * other calls do not affect.
   *
   * @throws InvalidInputError, PathNotAllowedError, FileAccessError
   */
  async acquire(path: string): Promise<AcquiredFile> {
    checkSchema(pathSchema, { path }, "file to acquire");
    return AcquiredFile.of(this.#commits, relativePath(path));
  }
}

interface Commits {
  readonly files: WorkspaceFiles;
  readonly reservations: Reservations;
  readonly owner: string;
  readonly timeoutMs: number;
}

/** One acquisition of a file. */
export class AcquiredFile {
  readonly #commits: Commits;
  #version: FileVersion;

  private constructor(commits: Commits, version: FileVersion) {
    this.#commits = commits;
    this.#version = version;
  }

  static async of(commits: Commits, path: string): Promise<AcquiredFile> {
    return new AcquiredFile(commits, await versionOf(commits, path, await commits.files.read(path)));
  }

  /** The file in its acquired state or, after a commit, in its written state. */
  get version(): FileVersion {
    return this.#version;
  }

  /**
   * Replaces the file atomically and durably if its content still matches `version`. Creates missing directories. After
   * a conflict, `version` is unchanged: acquire the file again to start from its current content.
   *
   * @throws InvalidInputError, FileReservedError, ReservationLostError, PathNotAllowedError, FileAccessError
   */
  async checkAndCommit(content: string | Uint8Array): Promise<CommitResult> {
    checkSchema(commitSchema, { content }, "content to commit");
    const originalVersion = this.#version;
    const { path, hash: expectedHash } = originalVersion;
    const { files, reservations, owner, timeoutMs } = this.#commits;
    const bytes = bytesOf(content, path);
    await using reservation = await reservations.acquire([{ path, operation: "write" }], { owner, timeoutMs });
    const outcome = await files.replaceUnchanged(path, {
      expectedHash,
      content: bytes,
      newMode: newFileMode,
      // The process may have been suspended after it obtained the reservation.
      beforeReplacing: () => {
        if (!reservation.held) throw new ReservationLostError(owner, path);
      },
    });
    if (outcome.replaced) {
      this.#version = { path, hash: nodeSha256.hex(bytes), mtime: outcome.mtime.toISOString() };
      return { success: true, version: this.#version };
    }
    const currentVersion = await versionOf(this.#commits, path, outcome.found);
    return {
      success: false,
      reason: "CONFLICT",
      originalVersion,
      currentHash: currentVersion.hash,
      currentVersion,
    };
  }
}

function bytesOf(content: string | Uint8Array, path: string): Uint8Array {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  if (bytes.length <= maximumFileBytes) return bytes;
  throw new FileAccessError(path, `would have ${bytes.length} bytes, over ${maximumFileBytes}`);
}

async function versionOf({ files }: Commits, path: string, found: FoundFile): Promise<FileVersion> {
  if (found.kind === "missing") return { path, hash: "", mtime: "" };
  const { content } = fileIn(found, path);
  const status = await lstat(join(files.root, path)).catch(() => undefined);
  return { path, hash: nodeSha256.hex(content), mtime: status?.mtime.toISOString() ?? "" };
}
