import type { AgentLife } from "../checkpoint/status/AgentLife.ts";
import { StorageNotListableError } from "../errors/StorageNotListableError.ts";
import type { Clock } from "../internal/Clock.ts";
import { Journal } from "../journal/Journal.ts";
import { AgentLog } from "../storage/AgentLog.ts";
import { LogPersistenceStorageProvider } from "../storage/LogPersistenceStorageProvider.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import type { RecordLog } from "../storage/RecordLog.ts";

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
  async openJournal(taskId: string): Promise<Journal> {
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
}
