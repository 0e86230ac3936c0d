import type { AgentLife } from "../checkpoint/status/AgentLife.ts";
import { AgentBusyError } from "../errors/AgentBusyError.ts";
import { StorageNotListableError } from "../errors/StorageNotListableError.ts";
import type { Clock } from "../internal/Clock.ts";
import { Journal } from "../journal/Journal.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import { LogPersistenceStorageProvider } from "../storage/LogPersistenceStorageProvider.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import type { RecordLog } from "../storage/RecordLog.ts";

/** How long to wait before a task is asked for again whose owner was asked to stop, in milliseconds. */
const pollMs = 50;

/** How a running task is stopped. */
export interface StopOptions {
  /** What its run is told. */
  readonly reason: string;
  /** How long to wait until its process has let go of it, in milliseconds. */
  readonly timeoutMs: number;
}

/** The logs of the tasks of one storage. */
export class TaskLogs {
  readonly log: RecordLog;
  readonly clock: Clock;
  readonly #provider: LogPersistenceStorageProvider;

  /** @throws StorageNotListableError for a provider of three methods. */
  constructor(storage: PersistenceStorageProvider<never>, clock: Clock) {
    if (!(storage instanceof LogPersistenceStorageProvider)) throw new StorageNotListableError();
    this.#provider = storage;
    this.log = storage.log;
    this.clock = clock;
  }

  /** What the log of a task says now. Owns nothing. */
  async life(taskId: string): Promise<AgentLife> {
    return (await AgentLog.readHead(this.log, taskId)).log.index.life;
  }

  /** Owns a task. @throws AgentBusyError while another has it. */
  async open(taskId: string): Promise<Journal> {
    const { log, clock } = this;
    const { inlineThresholdBytes, compressThresholdBytes } = this.#provider;
    return Journal.open({
      log,
      agentId: taskId,
      clock,
      sha256: await this.#provider.sha256(),
      inlineThresholdBytes,
      compressThresholdBytes,
      maxCheckpointBytes: Infinity,
    });
  }

  /** Owns a task, and asks whoever runs it to stop. @throws AgentBusyError when it is not let go of in time. */
  async openStopped(taskId: string, { reason, timeoutMs }: StopOptions): Promise<Journal> {
    const until = this.clock.monotonic() + timeoutMs;
    for (;;) {
      try {
        return await this.open(taskId);
      } catch (error) {
        if (!(error instanceof AgentBusyError) || this.clock.monotonic() >= until) throw error;
      }
      await this.log.requestStop(taskId, reason);
      await new Promise<void>((resolve) => this.clock.after(pollMs, resolve));
    }
  }
}
