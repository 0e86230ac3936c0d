import { z } from "zod";
import { FileReservedError, ReservationLostError } from "../../errors/workspaceErrors.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import {
  abortSignalSchema,
  clockSchema,
  nonEmptyString,
  numberFrom,
  objectWithMethods,
} from "../../internal/options/optionSchemas.ts";
import { canonicalPath } from "../../nodejs/canonicalPath.ts";
import { Disk } from "../../nodejs/Disk.ts";
import type { ProcessIdentity } from "../../nodejs/ProcessIdentity.ts";
import { nodeFileSystem } from "../../nodejs/nodeFileSystem.ts";
import { nodeProcessIdentity } from "../../nodejs/nodeProcessIdentity.ts";
import { relativePath } from "../files/relativePath.ts";
import { LockFolder } from "./LockFolder.ts";
import { LockExpiry, type LockState, type Reservation, type ReservedFile } from "./LockState.ts";
import { PathLock } from "./PathLock.ts";
import { isAbsolute, resolve } from "node:path";

/** Options of `Reservations`. */
export interface ReservationsOptions {
  /** The directory with `locks/`, shared by all processes on the same files. Defaults to `.agent-persistence`. */
  readonly directory?: string | undefined;
  /** The directory of relative paths, such as the root of the workspace. Defaults to the working directory. */
  readonly root?: string | undefined;
  /**
   * The monotonic time of this clock must be the same in all processes of the machine. Defaults to the machine's clock.
   */
  readonly clock?: Clock | undefined;
  /** Defaults to this process. */
  readonly identity?: ProcessIdentity | undefined;
}

const optionsSchema = strictOptions(() => ({
  directory: z.string().optional(),
  root: nonEmptyString.optional(),
  clock: clockSchema.optional(),
  identity: objectWithMethods<ProcessIdentity>("isRunning").optional(),
}));

/** The system clock with monotonic time since boot, which all processes of the machine share. */
const machineClock: Clock = { ...systemClock, monotonic: () => Number(process.hrtime.bigint()) / 1e6 };

const longestTtlMs = 365 * 24 * 3_600_000;

/** Options of `acquire`. */
export interface AcquireOptions {
  /** The name that other owners see. */
  readonly owner: string;
  /** Milliseconds until the reservation expires without a renewal, at most one year. Defaults to 300,000. */
  readonly ttlMs?: number | undefined;
  /** How long to wait for files that others hold, in milliseconds. `Infinity` waits without limit. Defaults to 0. */
  readonly timeoutMs?: number | undefined;
  /** Whether to renew after each third of `ttlMs`, until the release or the end of the process. Defaults to `false`. */
  readonly keepAlive?: boolean | undefined;
  /** Aborts the wait. `acquire` then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

const requestSchema = z.object({
  files: z.array(z.object({ path: z.string(), operation: z.enum(["read", "write"]) })),
  options: strictOptions(() => ({
    owner: z.string(),
    ttlMs: z.number().gt(0).max(longestTtlMs).optional(),
    timeoutMs: numberFrom(0).optional(),
    keepAlive: z.boolean().optional(),
    signal: abortSignalSchema.optional(),
  })),
});

const pathSchema = z.object({ path: z.string() });

/**
 * Advisory file locks with many readers or one writer for each file. They affect only programs that use reservations.
 * All processes of a machine share the locks through the directory `locks/`. If a process is killed, its files become
 * free when its reservation expires. One call acquires all its files or none, in a fixed order, so two calls never
 * deadlock. An owner that calls `acquire` again while it holds files can still deadlock. To avoid this, acquire all
 * files in one call, or set a timeout. Requests are served in order of arrival. A reservation belongs to one call. A
 * second call of the same owner does not share it.
 *
 * @example
 * ```ts
 * const reservations = new Reservations({ root: "project" });
 * await using held = await reservations.acquire([{ path: "src/a.ts", operation: "write" }], { owner: "agent-1" });
 * ```
 */
export class Reservations {
  readonly #folder: LockFolder;
  readonly #expiry: LockExpiry;
  readonly #root: string;

  /** @throws InvalidInputError */
  constructor(options: ReservationsOptions = {}) {
    checkSchema(optionsSchema, options, "options of the reservations");
    const { clock = machineClock, identity = nodeProcessIdentity(), directory = ".agent-persistence" } = options;
    this.#folder = new LockFolder(new Disk(nodeFileSystem, clock), resolve(directory, "locks"));
    this.#expiry = new LockExpiry(clock, identity);
    this.#root = resolve(options.root ?? ".");
  }

  /**
   * Reserves files. Paths are relative to the root, or absolute paths below the root. Directory links are resolved, so
   * that two names of one file exclude each other. A file with two entries is reserved once, and for writing if one
   * entry is for writing. If the call rejects, no file is reserved.
   *
   * @throws FileReservedError if a file does not become free in time
   * @throws ReservationLostError if a file is lost before the last one is acquired
   * @throws InvalidInputError, PathNotAllowedError
   */
  async acquire(files: readonly ReservedFile[], options: AcquireOptions): Promise<Reservation> {
    // Lock files only contain values that can be read back.
    checkSchema(requestSchema, { files, options }, "reservation");
    const { owner, ttlMs = 300_000, timeoutMs = 0, keepAlive = false, signal } = options;
    const id = crypto.randomUUID();
    const lock = new PathLock(this.#folder, this.#expiry, { id, owner, ttlMs });
    const held = new HeldFiles(lock, keepAlive);
    const giveUpAt = this.#expiry.clock.monotonic() + timeoutMs;
    try {
      // The fixed order for all callers prevents deadlocks.
      for (const file of eachOnce(files, this.#root)) {
        const acquired = await lock.acquire(file, giveUpAt, signal);
        if (typeof acquired !== "number") throw reserved(file, acquired);
        held.add(file, acquired);
      }
      return held.complete();
    } catch (error) {
      // Ignores errors of the release, because the files expire later, and the caller needs the first error.
      await held.release().catch(() => {});
      throw error;
    }
  }

  /** Returns the current holders of a file, or an empty list. @throws InvalidInputError, PathNotAllowedError */
  async holders(path: string): Promise<FileReservedError["holders"]> {
    checkSchema(pathSchema, { path }, "file to look up");
    const file = fileNamed(path, this.#root);
    return holdersOf(this.#expiry.current((await this.#folder.read(file)).state));
  }
}

/** Returns the canonical form of a path. @throws PathNotAllowedError for a path outside the root */
function fileNamed(path: string, root: string): string {
  const file = isAbsolute(path) ? canonicalPath(path, root) : canonicalPath(relativePath(path), root);
  // A relative path may lead out of the root through a directory link. An absolute path must be below the root.
  return isAbsolute(path) || !isAbsolute(file) ? relativePath(file) : file;
}

function eachOnce(files: readonly ReservedFile[], root: string): ReservedFile[] {
  const operations = new Map<string, ReservedFile["operation"]>();
  for (const { path, operation } of files) {
    const file = fileNamed(path, root);
    operations.set(file, operations.get(file) === "write" ? "write" : operation);
  }
  return [...operations]
    .map(([path, operation]) => ({ path, operation }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function reserved({ path, operation }: ReservedFile, state: LockState): FileReservedError {
  return new FileReservedError(path, operation, holdersOf(state));
}

function holdersOf({ holders }: LockState): FileReservedError["holders"] {
  return holders.map(({ owner, operation, expiresAt }) => ({ owner, operation, expiresAt }));
}

/**
 * The files of a request. Renews them during `acquire`, which can take longer than `ttlMs`, and later only with
 * `keepAlive`.
 */
export class HeldFiles implements Reservation {
  readonly #lock: PathLock;
  readonly #keepAlive: boolean;
  #renews = true;
  readonly #deadlines = new Map<ReservedFile, number>();
  #isOver = false;
  #cancelRenewal = (): void => {};
  #renewal: Promise<void> = Promise.resolve();

  constructor(lock: PathLock, keepAlive: boolean) {
    this.#lock = lock;
    this.#keepAlive = keepAlive;
    this.#renewLater();
  }

  get owner(): string {
    return this.#lock.request.owner;
  }

  get files(): readonly ReservedFile[] {
    return [...this.#deadlines.keys()];
  }

  get held(): boolean {
    return !this.#isOver && Math.min(...this.#deadlines.values()) > this.#lock.expiry.clock.monotonic();
  }

  add(file: ReservedFile, deadlineMs: number): void {
    this.#deadlines.set(file, deadlineMs);
  }

  /** @throws ReservationLostError if a file was lost meanwhile */
  complete(): this {
    this.#renews = this.#keepAlive;
    if (!this.#renews) this.#cancelRenewal();
    if (this.held) return this;
    const [[first] = []] = [...this.#deadlines].toSorted(([, one], [, other]) => one - other);
    throw new ReservationLostError(this.owner, first?.path ?? "");
  }

  async renew(): Promise<void> {
    for (const file of this.files) {
      const deadlineMs = this.#isOver ? undefined : await this.#lock.renew(file);
      if (deadlineMs === undefined) {
        this.#isOver = true;
        throw new ReservationLostError(this.owner, file.path);
      }
      this.#deadlines.set(file, deadlineMs);
    }
  }

  /** Releases every file even if one fails, then throws the first error. */
  async release(): Promise<void> {
    this.#isOver = true;
    this.#cancelRenewal();
    await this.#renewal;
    const failures: unknown[] = [];
    for (const { path } of this.files)
      await this.#lock.release(path).catch((error: unknown) => void failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  #renewLater(): void {
    const { expiry, request } = this.#lock;
    const renew = () => void (this.#renewal = this.#renewNow());
    this.#cancelRenewal = expiry.clock.after(request.ttlMs / 3, renew, true);
  }

  /** Retries after a storage failure and stops once the reservation is lost. */
  async #renewNow(): Promise<void> {
    await this.renew().catch(() => {});
    if (this.#renews && !this.#isOver) this.#renewLater();
  }
}
