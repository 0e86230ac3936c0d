import { join } from "node:path";
import { z } from "zod";
import { FileReservedError } from "../../errors/workspace/FileReservedError.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { abortSignalSchema, clockSchema, numberFrom, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { Clock } from "../../internal/Clock.ts";
import { randomId } from "../../internal/randomId.ts";
import { Disk } from "../../node/Disk.ts";
import { nodeFileSystem } from "../../node/nodeFileSystem.ts";
import { nodeProcessIdentity } from "../../node/nodeProcessIdentity.ts";
import type { ProcessIdentity } from "../../node/ProcessIdentity.ts";
import { relativePath } from "../files/relativePath.ts";
import { HeldFiles } from "./HeldFiles.ts";
import { LockFolder } from "./LockFolder.ts";
import type { LockState } from "./LockState.ts";
import { LockExpiry } from "./LockExpiry.ts";
import { machineClock } from "./machineClock.ts";
import { PathLock } from "./PathLock.ts";
import type { Reservation, ReservedFile } from "./Reservation.ts";

/** Where reservations are kept, and by which clock. */
export interface ReservationsOptions {
  /** The folder that holds `locks/`: the same for all who work on the same files. Default: `.agent-persistence`. */
  readonly directory?: string | undefined;
  /** Default: the clock of the machine. Its monotonic time must be one for all processes of the machine. */
  readonly clock?: Clock | undefined;
  /** Default: this process. */
  readonly identity?: ProcessIdentity | undefined;
}

const optionsSchema = strictOptions({
  directory: z.string().optional(),
  clock: clockSchema.optional(),
  identity: objectWithMethods<ProcessIdentity>("isRunning").optional(),
});

const longestTtlMs = 365 * 24 * 3_600_000;

/** How to acquire. */
export interface AcquireOptions {
  /** Who reserves: shown to others. */
  readonly owner: string;
  /** Milliseconds until the reservation expires unless it is renewed. Default: 300,000, five minutes. */
  readonly ttlMs?: number | undefined;
  /** Milliseconds to wait for files that others have. Default: 0, do not wait. `Infinity` waits as long as it takes. */
  readonly timeoutMs?: number | undefined;
  /** Renews by itself, each third of `ttlMs`, until it is released or the process ends. Default: false. */
  readonly keepAlive?: boolean | undefined;
  /** Stops waiting; `acquire` rejects with its reason. */
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
 * Soft locks on files, for all who ask for them: many readers or one writer of each file. They bind nobody who does not
 * ask. Any number of processes of a machine share them through `locks/` in a folder; what a process that was killed held
 * gets free when it expires.
 *
 * Several files are acquired in one order, all or none, so that no two callers wait for each other. Who already has files
 * and waits for more can still be waited for: acquire what you need in one call, or wait with a timeout. Who comes first
 * is served first. A reservation belongs to one call: the same owner is a stranger to its other reservations.
 */
export class Reservations {
  readonly #folder: LockFolder;
  readonly #clock: Clock;
  readonly #identity: ProcessIdentity;
  readonly #judge: LockExpiry;

  /** @throws InvalidInputError */
  constructor(options: ReservationsOptions = {}) {
    checkSchema(optionsSchema, options, "options of the reservations");
    this.#clock = options.clock ?? machineClock;
    this.#identity = options.identity ?? nodeProcessIdentity();
    this.#folder = new LockFolder(
      new Disk(nodeFileSystem, this.#clock),
      join(options.directory ?? ".agent-persistence", "locks"),
    );
    this.#judge = new LockExpiry(this.#clock, this.#identity);
  }

  /**
   * Reserves files. A path that is named twice is reserved once, to write it if either is.
   *
   * @throws FileReservedError when a file is not free in time; InvalidInputError, PathNotAllowedError. Nothing is reserved then.
   */
  async acquire(files: readonly ReservedFile[], options: AcquireOptions): Promise<Reservation> {
    // What could not be read back from a lock file is not written into one.
    checkSchema(requestSchema, { files, options }, "reservation");
    const { owner, ttlMs = 300_000, timeoutMs = 0, keepAlive = false, signal } = options;
    const id = randomId();
    const lock = new PathLock(this.#folder, this.#judge, this.#clock, this.#identity, { id, owner, ttlMs });
    const held = new HeldFiles(lock, this.#clock, { owner, ttlMs, keepAlive });
    const giveUpAt = this.#clock.monotonic() + timeoutMs;
    try {
      // In one order for all, so that no circle of callers waits for each other.
      for (const file of eachOnce(files)) {
        const acquired = await lock.acquire(file, giveUpAt, signal);
        if (typeof acquired !== "number") throw reserved(file, acquired);
        held.add(file, acquired);
      }
      return held.complete();
    } catch (error) {
      // What cannot be given back expires; the caller is told why nothing was reserved.
      await held.release().catch(() => {});
      throw error;
    }
  }

  /** Who has a file now; empty when it is free. */
  async holders(path: string): Promise<FileReservedError["holders"]> {
    checkSchema(pathSchema, { path }, "file to look up");
    const relative = relativePath(path);
    return holdersOf(this.#judge.current((await this.#folder.read(relative)).state));
  }
}

function eachOnce(files: readonly ReservedFile[]): ReservedFile[] {
  const operations = new Map<string, ReservedFile["operation"]>();
  for (const { path, operation } of files) {
    const relative = relativePath(path);
    operations.set(relative, operations.get(relative) === "write" ? "write" : operation);
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
