import { z } from "zod";
import { FileReservedError } from "../../errors/workspace/FileReservedError.ts";
import { ReservationLostError } from "../../errors/workspace/ReservationLostError.ts";
import { type Clock, systemClock } from "../../internal/Clock.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import {
  abortSignalSchema,
  clockSchema,
  nonEmptyString,
  numberFrom,
  objectWithMethods,
} from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { randomId } from "../../internal/randomId.ts";
import { canonicalPath } from "../../node/canonicalPath.ts";
import { Disk } from "../../node/Disk.ts";
import type { ProcessIdentity } from "../../node/ProcessIdentity.ts";
import { nodeFileSystem } from "../../node/nodeFileSystem.ts";
import { nodeProcessIdentity } from "../../node/nodeProcessIdentity.ts";
import { relativePath } from "../files/relativePath.ts";
import { LockFolder } from "./LockFolder.ts";
import { LockExpiry, type LockState, type Reservation, type ReservedFile } from "./LockState.ts";
import { PathLock } from "./PathLock.ts";
import { isAbsolute, join, resolve } from "node:path";

/** Where reservations are kept, and by which clock they expire. */
export interface ReservationsOptions {
  /** The folder that holds `locks/`: the same one for all processes that work on the same files. Default: `.agent-persistence`. */
  readonly directory?: string | undefined;
  /** The folder that paths are relative to, such as that of the workspace. Default: the working directory of the process. */
  readonly root?: string | undefined;
  /** Default: the clock of the machine. All processes of the machine must share its monotonic time. */
  readonly clock?: Clock | undefined;
  /** Default: this process. */
  readonly identity?: ProcessIdentity | undefined;
}

const optionsSchema = strictOptions({
  directory: z.string().optional(),
  root: nonEmptyString.optional(),
  clock: clockSchema.optional(),
  identity: objectWithMethods<ProcessIdentity>("isRunning").optional(),
});

/** The clock of the system, with a monotonic time since boot, which all processes of the machine share. */
const machineClock: Clock = { ...systemClock, monotonic: () => Number(process.hrtime.bigint()) / 1e6 };

const longestTtlMs = 365 * 24 * 3_600_000;

/** How to acquire files. */
export interface AcquireOptions {
  /** The name that other owners see. */
  readonly owner: string;
  /** Milliseconds until the reservation expires, unless it is renewed. At most a year. Default: 300,000 (five minutes). */
  readonly ttlMs?: number | undefined;
  /** Milliseconds to wait for files that others hold. `Infinity` waits without limit. Default: 0, which does not wait. */
  readonly timeoutMs?: number | undefined;
  /** Renews automatically after each third of `ttlMs`, until it is released or the process ends. Default: false. */
  readonly keepAlive?: boolean | undefined;
  /** Stops the wait: `acquire` rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

const requestSchema = z.object({
  files: z.array(z.object({ path: z.string(), operation: z.enum(["read", "write"]) })),
  options: strictOptions({
    owner: z.string(),
    ttlMs: z.number().gt(0).max(longestTtlMs).optional(),
    timeoutMs: numberFrom(0).optional(),
    keepAlive: z.boolean().optional(),
    signal: abortSignalSchema.optional(),
  }),
});

const pathSchema = z.object({ path: z.string() });

/**
 * Advisory locks on files: many readers or one writer for each file. They only bind programs that reserve. All processes of
 * a machine share them through the folder `locks/`. Files of a killed process become free when its reservation expires.
 *
 * One call acquires all of its files or none, in one fixed order, so that two calls never wait for each other. An owner that
 * holds files and calls `acquire` for more can still deadlock: acquire all files in one call, or set a timeout. Requests are
 * served in order of arrival. A reservation belongs to one call: the same owner does not share its other reservations.
 */
export class Reservations {
  readonly #folder: LockFolder;
  readonly #expiry: LockExpiry;
  readonly #root: string;

  /** @throws InvalidInputError */
  constructor(options: ReservationsOptions = {}) {
    checkSchema(optionsSchema, options, "options of the reservations");
    const { clock = machineClock, identity = nodeProcessIdentity(), directory = ".agent-persistence" } = options;
    this.#folder = new LockFolder(new Disk(nodeFileSystem, clock), join(directory, "locks"));
    this.#expiry = new LockExpiry(clock, identity);
    this.#root = resolve(options.root ?? ".");
  }

  /**
   * Reserves files. A path is relative to the root, or absolute and below the root. Links of folders are resolved, so that two
   * names of one file exclude each other. A file that is named twice is reserved once, for writing if either entry is.
   *
   * @throws FileReservedError when a file is not free in time; InvalidInputError, PathNotAllowedError. Then nothing is reserved.
   */
  async acquire(files: readonly ReservedFile[], options: AcquireOptions): Promise<Reservation> {
    // Only values that can be read back from a lock file are written into one.
    checkSchema(requestSchema, { files, options }, "reservation");
    const { owner, ttlMs = 300_000, timeoutMs = 0, keepAlive = false, signal } = options;
    const id = randomId();
    const lock = new PathLock(this.#folder, this.#expiry, { id, owner, ttlMs });
    const held = new HeldFiles(lock, keepAlive);
    const giveUpAt = this.#expiry.clock.monotonic() + timeoutMs;
    try {
      // One order for all callers, so that none wait for each other in a circle.
      for (const file of eachOnce(files, this.#root)) {
        const acquired = await lock.acquire(file, giveUpAt, signal);
        if (typeof acquired !== "number") throw reserved(file, acquired);
        held.add(file, acquired);
      }
      return held.complete();
    } catch (error) {
      // A file that cannot be released expires; the caller needs the first error.
      await held.release().catch(() => {});
      throw error;
    }
  }

  /** The current holders of a file; empty when it is free. @throws InvalidInputError, PathNotAllowedError */
  async holders(path: string): Promise<FileReservedError["holders"]> {
    checkSchema(pathSchema, { path }, "file to look up");
    const file = fileNamed(path, this.#root);
    return holdersOf(this.#expiry.current((await this.#folder.read(file)).state));
  }
}

/** The one spelling of a path. @throws PathNotAllowedError for a path outside the root. */
function fileNamed(path: string, root: string): string {
  const file = isAbsolute(path) ? canonicalPath(path, root) : canonicalPath(relativePath(path), root);
  // A link of a folder may lead out of the root; a path may not.
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
 * The files that one request holds. It renews them automatically while more files are being acquired, since that can take
 * longer than `ttlMs`; afterwards only with `keepAlive`.
 */
export class HeldFiles implements Reservation {
  readonly #lock: PathLock;
  readonly #keepAlive: boolean;
  /** The deadline of each file by the monotonic clock. */
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

  complete(): this {
    if (!this.#keepAlive) this.#cancelRenewal();
    return this;
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

  /** Releases every file, even when one fails; then throws the first failure. */
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

  /** Tries again after a storage failure, and stops once the reservation is lost. */
  async #renewNow(): Promise<void> {
    await this.renew().catch(() => {});
    if (!this.#isOver) this.#renewLater();
  }
}
