import type { StatusState } from "../../checkpoint/state/StatusState.ts";
import { StorageNotListableError } from "../../errors/storage/StorageNotListableError.ts";
import type { LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { systemClock, type Clock } from "../../internal/Clock.ts";
import type { AppendListener } from "../../journal/AppendQueue.ts";
import { Journal } from "../../journal/Journal.ts";
import { AppendedEvents } from "../../persistence/events/AppendedEvents.ts";
import { notifyListener } from "../../persistence/events/notifyListener.ts";
import { timedEvent } from "../../persistence/events/PersistenceEvent.ts";
import { AgentLog } from "../../storage/AgentLog.ts";
import { type LogStorage, offersLog } from "../../storage/LogStorage.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { TaskManagerOptions } from "./TaskManagerOptions.ts";

/** The logs of all tasks in one storage. */
export class TaskLogs {
  readonly log: RecordLog;
  readonly clock: Clock;
  readonly #storage: LogStorage;
  readonly #listening: Pick<TaskManagerOptions, "onEvent" | "onListenerError">;

  /** @throws StorageNotListableError for a provider of three methods. */
  constructor({ storage, clock = systemClock, onEvent, onListenerError }: TaskManagerOptions) {
    if (!offersLog(storage)) throw new StorageNotListableError();
    this.#storage = storage;
    this.log = storage.log;
    this.clock = clock;
    this.#listening = { onEvent, onListenerError };
  }

  /** Reads and folds the log of a task without owning it. */
  async life(taskId: string): Promise<StatusState> {
    return (await AgentLog.readHead(this.log, taskId)).log.index.statusState;
  }

  /** Takes ownership of a task. @throws AgentBusyError while another process owns it. */
  async openJournal(taskId: string): Promise<Journal> {
    const { log, clock } = this;
    const { inlineThresholdBytes, compressThresholdBytes } = this.#storage;
    return Journal.open({
      log,
      agentId: taskId,
      clock,
      sha256: await this.#storage.sha256(),
      inlineThresholdBytes,
      compressThresholdBytes,
      maxCheckpointBytes: Infinity,
      listener: (generation, index) => this.#listenerOf(taskId, generation, index),
    });
  }

  #listenerOf(taskId: string, generation: number, index: LogProjection): AppendListener {
    const { onEvent, onListenerError } = this.#listening;
    if (!onEvent) return () => {};
    const events = new AppendedEvents(taskId, generation, index);
    return (records, summary) => {
      for (const event of events.of(records, summary))
        notifyListener(onEvent, timedEvent(event, this.clock), onListenerError);
    };
  }
}
