import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { FileAccessError } from "../../errors/workspace/FileAccessError.ts";
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
      /** The file as written; the next commit of the same `AcquiredFile` starts from it. */
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

const commitSchema = z.object({
  content: customSchema("text or a Uint8Array", (value) => typeof value === "string" || value instanceof Uint8Array),
});

/**
 * Writes a file only if its content is unchanged: acquire it, make the new content in your own time, and commit. Nobody has
 * to wait meanwhile. The file is reserved from the check to the write, so no program that reserves or commits can write
 * in between. Any other program can: a save of it is lost if it falls between the last look at the file and the rename that
 * replaces it, which follow each other at once.
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
   * Reads the file, and remembers its content, or that there is no file. Each call gives a lock of its own: what others
   * acquire or commit, also through the same `OptimisticLock`, does not change it.
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

/** One acquisition of a file. It belongs to whoever called `acquire`. */
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

  /** The file as it was acquired or, after a commit, as it was written. */
  get version(): FileVersion {
    return this.#version;
  }

  /**
   * Replaces the file atomically and durably with `content`, if it still has the content of `version`. A new file gets the
   * folders it needs. After a conflict `version` stays the same: acquire the file again to start from its current content.
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
      // This process may have slept since it got the reservation.
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
