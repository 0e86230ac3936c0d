import type { Entry, TornTail } from "../checkpoint/records/Entry.ts";
import { Mutex } from "../internal/Mutex.ts";
import type { BlobStore } from "./BlobStore.ts";
import type {
  AgentSummary,
  ListOptions,
  LogAppend,
  LogCapabilities,
  LogOwner,
  OwnedLog,
  ReadOptions,
  RebuiltSummary,
  ReceiveArguments,
  RecordLog,
} from "./RecordLog.ts";

export type Receive = NonNullable<RecordLog["receive"]>;

/** Base class of logs that store changed data in a wrapped log. */
export abstract class RecordLogWrapper<Owned extends OwnedLogWrapper = OwnedLogWrapper> implements RecordLog {
  readonly version = "v1";
  /** The log below. */
  readonly stored: RecordLog;
  readonly receive?: Receive;
  readonly unremovedBytes?: NonNullable<RecordLog["unremovedBytes"]>;
  readonly end?: NonNullable<RecordLog["end"]>;
  readonly watch?: NonNullable<RecordLog["watch"]>;
  readonly makeRoom?: NonNullable<RecordLog["makeRoom"]>;
  /** The logs that this process owns, by agent. */
  protected readonly owned = new Map<string, Owned>();

  constructor(log: RecordLog) {
    this.stored = log;
    const receive = log.receive?.bind(log);
    if (receive) this.receive = (...given) => this.receiveWith(receive, ...given);
    if (log.unremovedBytes) this.unremovedBytes = log.unremovedBytes.bind(log);
    if (log.end) this.end = log.end.bind(log);
    if (log.watch) this.watch = log.watch.bind(log);
    if (log.makeRoom) this.makeRoom = log.makeRoom.bind(log);
  }

  abstract get blobs(): BlobStore;

  get capabilities(): LogCapabilities {
    return this.stored.capabilities;
  }

  async open(agentId: string, owner: LogOwner): Promise<OwnedLog> {
    const owned = await this.stored.open(agentId, owner);
    return orRelease(owned, async () => this.own(agentId, await this.opened(agentId, owned, owner)));
  }

  abstract read(agentId: string, options?: ReadOptions): AsyncGenerator<Entry>;

  list(options?: ListOptions): AsyncIterable<AgentSummary> {
    return this.stored.list(options);
  }

  owner(agentId: string): ReturnType<RecordLog["owner"]> {
    return this.stored.owner(agentId);
  }

  requestStop(agentId: string, reason: string): Promise<void> {
    return this.stored.requestStop(agentId, reason);
  }

  close(): Promise<void> {
    return this.stored.close();
  }

  /** Wraps an owned log that this process has just opened in the wrapped log. */
  protected abstract opened(agentId: string, owned: OwnedLog, owner: LogOwner): Promise<Owned>;
  /** @param receive - the method of the wrapped log. */
  protected abstract receiveWith(receive: Receive, ...given: ReceiveArguments): Promise<OwnedLog>;

  /** Keeps an owned log until it ends. */
  protected own(agentId: string, owned: Owned): Owned {
    this.owned.set(agentId, owned);
    owned.onEnd = () => {
      if (this.owned.get(agentId) === owned) this.forget(agentId);
    };
    return owned;
  }

  /** Called when the last owned log of an agent ends. */
  protected forget(agentId: string): void {
    this.owned.delete(agentId);
  }
}

/** Releases a log if it cannot be wrapped. */
export async function orRelease<Result>(owned: OwnedLog, wrap: () => Promise<Result>): Promise<Result> {
  try {
    return await wrap();
  } catch (error) {
    await owned.release().catch(() => {});
    throw error;
  }
}

/** Base class of owned logs that store changed data in a wrapped log. They report the state of the wrapped log. */
export abstract class OwnedLogWrapper implements OwnedLog {
  /** Called before the log is released. */
  onEnd: () => void = () => {};
  protected readonly agentId: string;
  protected readonly owned: OwnedLog;
  /** The number of appends and prunings that wait for their turn. If none waits, an append need not be copied. */
  protected waiting = 0;
  readonly #turns = new Mutex();
  protected failed: { readonly error: unknown } | undefined;

  constructor(agentId: string, owned: OwnedLog) {
    this.agentId = agentId;
    this.owned = owned;
  }

  get position(): number {
    return this.owned.position;
  }

  get generation(): number {
    return this.owned.generation;
  }

  get tornTail(): TornTail | undefined {
    return this.owned.tornTail;
  }

  get damage(): OwnedLog["damage"] {
    return this.owned.damage;
  }

  get rebuilt(): RebuiltSummary | undefined {
    return this.owned.rebuilt;
  }

  get lost(): AbortSignal {
    return this.owned.lost;
  }

  async checkStop(): Promise<void> {
    await this.owned.checkStop?.();
  }

  prune(): Promise<void> {
    return this.waitingTurn(() => this.owned.prune());
  }

  release(): Promise<void> {
    return this.inTurn(async () => {
      this.onEnd();
      await this.owned.release();
    });
  }

  abstract append(entry: LogAppend, expectedPosition: number): Promise<number>;
  abstract drop(): Promise<void>;

  protected inTurn<Result>(action: () => Promise<Result>): Promise<Result> {
    return this.#turns.runExclusive(action);
  }

  /** Runs an action in turn, and counts it in {@link waiting} until it has ended. */
  protected async waitingTurn<Result>(action: () => Promise<Result>): Promise<Result> {
    this.waiting++;
    try {
      return await this.inTurn(action);
    } finally {
      this.waiting--;
    }
  }

  /** After a failure, the end of the log is unknown, and no later append may be stored. */
  protected async orFail<Result>(action: () => Promise<Result>): Promise<Result> {
    if (this.failed) throw this.failed.error;
    try {
      return await action();
    } catch (error) {
      this.failed = { error };
      throw error;
    }
  }
}
